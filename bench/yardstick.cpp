#include "yardstick.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "measure.hpp"

namespace rapt::bench {
namespace {

// One thread is timed by its own CPU time, so that what else the machine does counts neither for the case nor
// for its yardsticks; several threads by the wall clock.
double now(int threads) { return threads == 1 ? measure::thread_cpu_seconds() : measure::wall_seconds(); }

double fma_peak(const Shape& shape) {
  return shape.dtype == Dtype::f64 ? measure::fma_peak<double>(shape.threads)
                                   : measure::fma_peak<float>(shape.threads);
}

// Of as many bytes as the case reads of K and V; 0 where that is not what it waits for.
double read_bandwidth(const Case& subject, const Shape& shape) {
  return subject.kv_bytes > 0
             ? measure::read_bandwidth(static_cast<std::ptrdiff_t>(subject.kv_bytes), shape.threads)
             : 0;
}

}  // namespace

void time_case(benchmark::State& state, Case& subject, const Shape& shape) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(shape.threads));
  tbb::task_arena arena(shape.threads);
  const double peak_before = fma_peak(shape), bandwidth_before = read_bandwidth(subject, shape);
  double seconds = 0;
  arena.execute([&] {
    const double start = now(shape.threads);
    for (auto _ : state) subject.run();
    seconds = now(shape.threads) - start;
  });
  const double peak = (peak_before + fma_peak(shape)) / 2;
  const double each = seconds / static_cast<double>(state.iterations());
  if (subject.flop > 0) {
    state.counters["gflops"] = subject.flop / each * 1e-9;
    state.counters["peak_share"] = subject.flop / each / peak;
  }
  if (subject.kv_bytes > 0) {
    const double bandwidth = (bandwidth_before + read_bandwidth(subject, shape)) / 2;
    state.counters["bandwidth_share"] = subject.kv_bytes / each / bandwidth;
  }
  // The textbook loops run on one thread, whatever the case ran on.
  const double textbook = subject.textbook_seconds(), plain = subject.plain_seconds();
  if (subject.tokens > 0) state.counters["tokens_per_second"] = subject.tokens / each;
  if (plain > 0) state.counters["times_plain"] = each / plain;
  if (textbook > 0) state.counters["vs_textbook"] = textbook / each;
}

}  // namespace rapt::bench
