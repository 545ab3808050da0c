// Do two typed views share memory? engine/aliasing.hpp answers; this hands it their shapes.
#pragma once

#include <rapt/view.hpp>

#include "aliasing.hpp"

namespace rapt {

template <class T, int N>
Footprint footprint_of(const View<T, N>& view) noexcept {
  Footprint result;
  result.data = view.data;
  result.rank = N;
  result.element_size = sizeof(T);
  for (std::size_t axis = 0; axis < N; ++axis) {
    result.extents[axis] = view.extents[axis];
    result.strides[axis] = view.strides[axis] * result.element_size;
  }
  return result;
}

template <class A, int N, class B, int M>
bool share_memory(const View<A, N>& a, const View<B, M>& b) {
  return overlap(footprint_of(a), footprint_of(b));
}

}  // namespace rapt
