// Whatever floating-point mode the caller is in: the same bits, and the mode is what it was.
#include "float_mode.hpp"

#include <catch2/catch.hpp>
#include <cfenv>

#include "support/everything.hpp"
#include "support/threads.hpp"

using rapt::test::everything;
using rapt::test::with_threads;

namespace {

#if defined(__x86_64__)
constexpr unsigned flush = 0x8040;  // FTZ and DAZ
unsigned mode() { return __builtin_ia32_stmxcsr() & ~0x3FU; }
void set_mode(unsigned mode) { __builtin_ia32_ldmxcsr(mode); }
constexpr unsigned standard = 0x1F80, upward = 0x4000, to_zero = 0x6000, trapping = 0x1F80 & ~0x0E80U;
#else
constexpr unsigned long flush = 1UL << 24;  // FZ
unsigned long mode() {
  unsigned long mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void set_mode(unsigned long mode) { asm volatile("msr fpcr, %0" ::"r"(mode)); }
constexpr unsigned long standard = 0, upward = 1UL << 22, to_zero = 3UL << 22, trapping = 0;
#endif

template <class Mode>
void check_in(Mode wanted, const std::string& expected) {
  set_mode(wanted);
  const std::string found = everything();
  const auto after = mode();
  set_mode(standard);
  CHECK(after == wanted);
  CHECK(found.size() == expected.size());
  CHECK((found == expected));
}

}  // namespace

TEST_CASE("any floating-point mode of the caller gives the same bits, and stays") {
  const std::string expected = everything();
  for (const auto wanted :
       {standard | flush, standard | upward, standard | to_zero, standard | flush | upward, trapping}) {
    CAPTURE(wanted);
    check_in(wanted, expected);
    with_threads(2, [&] { check_in(wanted, expected); });
  }
}

TEST_CASE("the mode can be told by its results: without the guard they differ") {
  set_mode(standard | flush);
  volatile float subnormal = 1e-40F;
  const float doubled = subnormal * 2;
  set_mode(standard);
  CHECK(doubled == 0.0F);
}
