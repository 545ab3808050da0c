// Sizes that cannot overflow silently: products of extents, counted in std::ptrdiff_t.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>

namespace rapt {

/// The product of non-negative factors; empty when std::ptrdiff_t cannot hold it. A factor of 0 gives 0
/// whatever the others are.
inline std::optional<std::ptrdiff_t> checked_product(std::initializer_list<std::ptrdiff_t> factors) noexcept {
  for (const std::ptrdiff_t factor : factors) {
    if (factor == 0) return 0;
  }
  std::ptrdiff_t product = 1;
  for (const std::ptrdiff_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

}  // namespace rapt
