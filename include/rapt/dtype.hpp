// Element types and arithmetics.
#pragma once

#include <cstdint>

namespace rapt {

/// Storage for K and V in half the space of float: the upper 16 bits of a float (8-bit exponent). Conversion
/// to float is exact.
struct bf16 {
  std::uint16_t bits;
};

/// IEEE binary16 storage for K and V (5-bit exponent). Conversion to float is exact.
struct f16 {
  std::uint16_t bits;
};

/// How sums are computed. Both start at +0 and run in ascending index; neither depends on threads, tiles or
/// the ISA (with FMA).
enum class Arithmetic {
  textbook,  ///< multiply and add round separately, as the plain C loop does
  fused,     ///< one fused multiply-add per term, rounding once
};

}  // namespace rapt
