// The scalar arithmetic of the contract: 2^y, its exact powers, tanh, and the widening of 16-bit storage.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/attention_definition.hpp"

using namespace rapt;

namespace {

// |approximate - exact| in units in the last place of T at exact.
template <class T>
double ulps(T approximate, long double exact) {
  int exponent = 0;
  (void)std::frexp(exact, &exponent);
  const int digits = std::numeric_limits<T>::digits;
  const int last = std::max(exponent - digits, std::numeric_limits<T>::min_exponent - digits);
  return static_cast<double>(std::abs(static_cast<long double>(approximate) - exact) /
                             std::ldexp(1.0L, last));
}

}  // namespace

TEMPLATE_TEST_CASE("2^f is within 0.75 epsilon, relatively, and powers of two are exact", "", float, double) {
  double worst = 0;
  for (int i = -200'000; i <= 200'000; ++i) {
    const TestType y = TestType(i) / TestType(4096.5);
    const auto [n, p] = reference::exp2_split(y);
    const long double exact = std::exp2(static_cast<long double>(y - n));
    const double error =
        static_cast<double>(std::abs(p - exact) / exact) / std::numeric_limits<TestType>::epsilon();
    if (!(error <= worst)) worst = error;
  }
  CAPTURE(worst);
  CHECK(worst <= 0.75);
  CHECK(reference::exp2_split(TestType(7)).p == 1);
  const TestType least = TestType(std::numeric_limits<TestType>::min_exponent - 1);
  CHECK(reference::pow2(least) == std::numeric_limits<TestType>::min());
  CHECK(reference::pow2(least - 1) == 0);
  CHECK(reference::pow2(-std::numeric_limits<TestType>::infinity()) == 0);
  CHECK(std::isnan(reference::pow2(std::numeric_limits<TestType>::quiet_NaN())));
}

TEMPLATE_TEST_CASE("tanh is within 2 ulp, odd, saturates, and keeps NaN and the sign of zero", "", float,
                   double) {
  double worst = 0;
  for (int i = 0; i < 400'000; ++i) {
    const double fine = 0.5 + i * 5e-7, wide = i * 6e-5, small = std::exp2(-i * 2e-4);
    for (const double x : {fine, wide, small}) {
      const TestType at = TestType(x);
      const double error = ulps(reference::tanh(at), std::tanh(static_cast<long double>(at)));
      if (!(error <= worst)) worst = error;
      if (reference::tanh(-at) != -reference::tanh(at)) FAIL("not odd at " << at);
    }
  }
  CAPTURE(worst);
  CHECK(worst <= 2);
  const TestType infinity = std::numeric_limits<TestType>::infinity();
  CHECK(reference::tanh(infinity) == 1);
  CHECK(reference::tanh(-infinity) == -1);
  CHECK(std::isnan(reference::tanh(std::numeric_limits<TestType>::quiet_NaN())));
  CHECK(std::signbit(reference::tanh(TestType(-0.0))));
  CHECK_FALSE(std::signbit(reference::tanh(TestType(0))));
  CHECK(reference::tanh(std::numeric_limits<TestType>::denorm_min()) ==
        std::numeric_limits<TestType>::denorm_min());
}

TEST_CASE("16-bit storage widens exactly") {
  CHECK(reference::widen(bf16{0x3f80}) == 1.0F);
  CHECK(reference::widen(bf16{0xc049}) == -3.140625F);
  CHECK(reference::widen(bf16{0x0001}) == std::ldexp(1.0F, -133));
  CHECK(reference::widen(f16{0x3c00}) == 1.0F);
  CHECK(reference::widen(f16{0xc248}) == -3.140625F);
  CHECK(reference::widen(f16{0x7bff}) == 65504.0F);
  CHECK(reference::widen(f16{0x0001}) == std::ldexp(1.0F, -24));
  CHECK(reference::widen(f16{0x03ff}) == std::ldexp(1023.0F, -24));
  CHECK(std::signbit(reference::widen(f16{0x8000})));
  CHECK(reference::widen(f16{0xfc00}) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(reference::widen(f16{0x7e01})));
}
