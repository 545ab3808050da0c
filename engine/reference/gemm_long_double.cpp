#include "reference/gemm_long_double.hpp"

#include <cmath>
#include <cstddef>

namespace rapt::reference {

template <class T>
LongDoubleProduct gemm_long_double(const View<const T, 2>& a, const View<const T, 2>& b) {
  LongDoubleProduct product;
  for (std::ptrdiff_t r = 0; r < a.extents[0]; ++r) {
    for (std::ptrdiff_t j = 0; j < b.extents[1]; ++j) {
      long double sum = 0, magnitude = 0;
      for (std::ptrdiff_t s = 0; s < a.extents[1]; ++s) {
        const long double term = static_cast<long double>(a(r, s)) * static_cast<long double>(b(s, j));
        sum += term;
        magnitude += std::abs(term);
      }
      product.sum.push_back(sum);
      product.magnitude.push_back(magnitude);
    }
  }
  return product;
}

template LongDoubleProduct gemm_long_double(const View<const float, 2>&, const View<const float, 2>&);
template LongDoubleProduct gemm_long_double(const View<const double, 2>&, const View<const double, 2>&);

}  // namespace rapt::reference
