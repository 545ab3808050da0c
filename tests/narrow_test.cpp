// Rounding to 16 bits, against the nearest number found by arithmetic.
#include "narrow.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/data.hpp"
#include "widen.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

template <class S>
bool rounds(float x, Dtype dtype) {
  const double expected = rounded_to(dtype, static_cast<double>(x)),
               actual = static_cast<double>(widen(narrow<S>(x)));
  return std::isnan(x) ? std::isnan(actual)
                       : expected == actual && std::signbit(expected) == std::signbit(actual);
}

/// Each stored number, the middle to the next one, and that middle's neighbours.
template <class S>
int wrong_roundings(Dtype dtype) {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = widen(S{static_cast<std::uint16_t>(bits)});
    const float next = widen(S{static_cast<std::uint16_t>((bits & 0x7FFF) + 1 > 0x7FFF ? bits : bits + 1)});
    wrong += !rounds<S>(x, dtype);
    if (!std::isfinite(x) || !std::isfinite(next)) continue;
    const auto middle = static_cast<float>((static_cast<double>(x) + static_cast<double>(next)) / 2);
    for (const float y : {middle, std::nextafter(middle, x), std::nextafter(middle, next)})
      wrong += !rounds<S>(y, dtype);
  }
  return wrong;
}

constexpr float extremes[]{65519.0F, 65520.0F,  65535.9F, 65536.0F,  1e30F, 0x1p-25F, 0x1.000002p-25F,
                           0x1p-26F, 0x1p-140F, 3.4e38F,  3.395e38F, -0.0F, -65520.0F};

}  // namespace

TEST_CASE("narrow rounds to the nearest bf16, ties to even") {
  CHECK(wrong_roundings<bf16>(Dtype::bf16) == 0);
  for (const float x : extremes) CHECK(rounds<bf16>(x, Dtype::bf16));
  CHECK(std::isnan(widen(narrow<bf16>(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(widen(narrow<bf16>(std::bit_cast<float>(0x7F800001U)))));
}

TEST_CASE("narrow rounds to the nearest f16, ties to even") {
  CHECK(wrong_roundings<f16>(Dtype::f16) == 0);
  for (const float x : extremes) CHECK(rounds<f16>(x, Dtype::f16));
  CHECK(std::isnan(widen(narrow<f16>(std::bit_cast<float>(0xFF800001U)))));
}
