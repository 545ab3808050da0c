// Do two views share memory? Judged by their address ranges: never wrong when it says no.
#pragma once

#include <rapt/view.hpp>

#include <cstddef>
#include <cstdint>

namespace rapt {

/// The half-open range of addresses that a view's elements lie in; empty (0, 0) for a view without elements.
struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

template <class T, int N>
AddressRange address_range(const View<T, N>& view) noexcept {
  std::ptrdiff_t lowest = 0;
  std::ptrdiff_t highest = 0;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(N); ++axis) {
    if (view.extents[axis] == 0) return {};
    const std::ptrdiff_t reach = (view.extents[axis] - 1) * view.strides[axis];
    (reach < 0 ? lowest : highest) += reach;
  }
  return {reinterpret_cast<std::uintptr_t>(view.data + lowest),
          reinterpret_cast<std::uintptr_t>(view.data + highest + 1)};
}

template <class A, int N, class B, int M>
bool ranges_overlap(const View<A, N>& a, const View<B, M>& b) noexcept {
  const AddressRange range_a = address_range(a);
  const AddressRange range_b = address_range(b);
  return range_a.begin < range_b.end && range_b.begin < range_a.end;
}

}  // namespace rapt
