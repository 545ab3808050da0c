// Float to 16-bit storage, rounding to nearest even; the inverse of widen.hpp. A NaN stays a NaN.
#pragma once

#include <rapt/dtype.hpp>

#include <bit>

namespace rapt {

template <class S>
S narrow(float x) noexcept;

template <>
inline float narrow<float>(float x) noexcept {
  return x;
}

template <>
inline bf16 narrow<bf16>(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return {static_cast<std::uint16_t>(bits >> 16 | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16)};
}

template <>
inline f16 narrow<f16>(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half;
  if (magnitude >= 0x47800000U) {  // 2^16 and up, infinity, NaN
    half = magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U;
  } else if (magnitude < 0x38800000U) {  // below 2^-14: counted in steps of 2^-24, which is an ulp of 0.5
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  } else {
    half = (magnitude - 0x38000000U + 0xFFFU + (magnitude >> 13 & 1U)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace rapt
