// A matrix product in long double, as plain loops, and what an error bound needs of each element. Includes
// nothing of the engine and is never linked into rapt.
#pragma once

#include <rapt/view.hpp>

#include <vector>

namespace rapt::reference {

/// Row-major arrays [rows, columns].
struct LongDoubleProduct {
  std::vector<long double> sum;        ///< sum of a b over the steps, in ascending order
  std::vector<long double> magnitude;  ///< sum of |a b|
};

/// a [rows, steps] times b [steps, columns], any strides. T is float or double.
template <class T>
LongDoubleProduct gemm_long_double(const View<const T, 2>& a, const View<const T, 2>& b);

}  // namespace rapt::reference
