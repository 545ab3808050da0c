// What the scale of a call comes to in the arithmetic: the factors of the numeric contract.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>

namespace rapt {

/// What multiplies a dot product: scale and c = scale * log2 e, both rounded from the double scale.
template <class T>
struct ScoreFactors {
  T scale, c;

  ScoreFactors(const std::optional<double>& given, std::ptrdiff_t head_dim) noexcept {
    constexpr double log2e = 1.4426950408889634;
    const double exact = given.value_or(1.0 / std::sqrt(static_cast<double>(head_dim)));
    scale = static_cast<T>(exact);
    c = static_cast<T>(exact * log2e);
  }
};

}  // namespace rapt
