// Non-owning views of strided arrays: how every array enters and leaves rapt.
#pragma once

#include <array>
#include <cstddef>

namespace rapt {

/// A strided array of N axes that rapt neither owns nor copies. Element [i0, i1, ...] is data[i0*strides[0] +
/// i1*strides[1] + ...]. Extents and strides count elements, not bytes. Any strides are accepted on input,
/// zero and negative ones too (data is then the address of element [0, 0, ...]); an output view must have
/// distinct elements. Every element must be aligned as its type asks, which is not checked.
template <class T, int N>
struct View {
  T* data = nullptr;
  std::array<std::ptrdiff_t, N> extents{};
  std::array<std::ptrdiff_t, N> strides{};

  /// The element at an index; no bounds check.
  template <class... Index>
  constexpr T& operator()(Index... index) const noexcept {
    static_assert(sizeof...(Index) == N);
    const std::ptrdiff_t at[]{static_cast<std::ptrdiff_t>(index)...};
    std::ptrdiff_t offset = 0;
    for (std::size_t axis = 0; axis < N; ++axis) offset += at[axis] * strides[axis];
    return data[offset];
  }

  /// A view of mutable elements is a view of constant ones.
  constexpr operator View<const T, N>() const noexcept { return {data, extents, strides}; }
};

/// The view of an array stored without gaps, last axis fastest (row-major, as C and NumPy lay arrays out).
template <class T, std::size_t N>
constexpr View<T, static_cast<int>(N)> contiguous(T* data, const std::ptrdiff_t (&extents)[N]) noexcept {
  View<T, static_cast<int>(N)> view{.data = data};
  std::ptrdiff_t stride = 1;
  for (std::size_t axis = N; axis-- > 0; stride *= extents[axis]) {
    view.extents[axis] = extents[axis];
    view.strides[axis] = stride;
  }
  return view;
}

}  // namespace rapt
