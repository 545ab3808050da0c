// 16-bit storage to float, exactly. always_inline: kernels use it too, and an ISA object lends no code to the
// rest of the program.
#pragma once

#include <rapt/dtype.hpp>

namespace rapt {

[[gnu::always_inline]] inline float widen(float x) noexcept { return x; }
[[gnu::always_inline]] inline double widen(double x) noexcept { return x; }
[[gnu::always_inline]] inline float widen(bf16 x) noexcept {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
}
[[gnu::always_inline]] inline float widen(f16 x) noexcept {
  const std::uint32_t sign = (x.bits & 0x8000U) << 16, exponent = (x.bits >> 10) & 0x1FU,
                      fraction = x.bits & 0x3FFU;
  if (exponent == 0) {  // subnormal: a small integer times 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t biased = exponent == 0x1F ? 0xFFU : exponent + 112U;
  return __builtin_bit_cast(float, sign | biased << 23 | fraction << 13);
}

}  // namespace rapt
