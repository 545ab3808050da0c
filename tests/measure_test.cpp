#include "measure.hpp"

#include <pthread.h>

#include <catch2/catch.hpp>
#include <system_error>

#include "dispatch.hpp"

using namespace rapt;

TEST_CASE(
    "the peak loop counts the flop of the ISA's vectors, and more of them are done with more iterations") {
  for (const Isa& isa : compiled_isas()) {
    if (!isa.runnable) continue;
    CAPTURE(isa.table->name);
    CHECK(isa.table->f32.fma_peak(1000) == 2 * isa.table->f64.fma_peak(1000));
    CHECK(isa.table->f32.fma_peak(1000) == 1000 * isa.table->f32.fma_peak(1));
    CHECK(isa.table->f32.fma_peak(0) == 0);
  }
}

TEST_CASE("peak and bandwidth are rates that a real machine can have, on one thread and on two") {
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    // Sanitizers slow the reads, never the register loop; no core does 10 TFLOP/s or reads 10 TB/s.
    CHECK(measure::fma_peak<float>(threads, 0.002) > 1e8);
    CHECK(measure::fma_peak<float>(threads, 0.002) < 1e13);
    CHECK(measure::read_bandwidth(1 << 20, threads, 0.002) > 1e6);
    CHECK(measure::read_bandwidth(1 << 20, threads, 0.002) < 1e13);
  }
  CHECK(measure::beyond_caches() >= std::ptrdiff_t{256} << 20);
}

TEST_CASE("a machine that gives no thread is an error, and nobody waits for it") {
  pthread_attr_t ordinary, greedy;
  REQUIRE(pthread_getattr_default_np(&ordinary) == 0);
  REQUIRE(pthread_getattr_default_np(&greedy) == 0);
  REQUIRE(pthread_attr_setstacksize(&greedy, std::size_t{1} << 46) == 0);  // half of the address space
  REQUIRE(pthread_setattr_default_np(&greedy) == 0);
  CHECK_THROWS_AS(measure::fma_peak<float>(2, 0.001), std::system_error);
  CHECK_THROWS_AS(measure::read_bandwidth(1 << 20, 2, 0.001), std::system_error);
  REQUIRE(pthread_setattr_default_np(&ordinary) == 0);
  pthread_attr_destroy(&greedy);
  pthread_attr_destroy(&ordinary);
}
