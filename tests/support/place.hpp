// Puts dense doubles into typed, strided memory between guard pages, and reads results back.
//
// The element past the last (Flush::end) or before the first (Flush::begin) lies on a page that cannot be
// touched; what is not an element of the view is filled with NaN (inputs) or a pattern that must survive
// (outputs).
#pragma once

#include <rapt/view.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "support/data.hpp"

namespace rapt::test {

/// How an array lies in memory. permuted swaps the middle axes ([batch, len, heads, dim] storage); gapped has
/// an inner stride of 2 and gaps at the end of every axis; reversed has negative strides; columns is Fortran
/// order; repeated gives stride 0 to each axis along which the values do not change; paged puts every line of
/// the last axis on pages of its own.
enum class Layout { dense, permuted, gapped, reversed, columns, repeated, paged };

/// Pages of memory with an unreadable page on both sides.
class GuardedPages {
 public:
  explicit GuardedPages(std::size_t bytes);
  ~GuardedPages();
  GuardedPages(GuardedPages&& other) noexcept;
  GuardedPages& operator=(GuardedPages&&) = delete;

  std::byte* begin() const { return begin_; }
  std::size_t size() const { return size_; }
  static std::size_t page_size();
  /// Makes whole pages within [begin, begin + bytes) unreadable.
  static void forbid(void* begin, std::size_t bytes);

 private:
  std::byte* begin_;
  std::size_t size_;
};

/// Element [0, ..., 0] is `origin` elements into a region of `size` elements.
template <int N>
struct Placement {
  std::array<std::ptrdiff_t, N> strides{};
  std::ptrdiff_t origin = 0, size = 0;
};
template <int N>
Placement<N> place(const std::array<std::ptrdiff_t, N>& extents, Layout layout, std::size_t element_size,
                   const std::array<bool, N>& constant_along);

template <class T>
T encode(double value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16)};
  } else if constexpr (std::is_same_v<T, f16>) {
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::abs(value);
    if (std::isnan(value)) return {0x7e00};
    if (std::isinf(value)) return {static_cast<std::uint16_t>(sign | 0x7c00)};
    if (magnitude < 0x1p-14) return {static_cast<std::uint16_t>(sign | static_cast<int>(magnitude * 0x1p24))};
    const int exponent = std::ilogb(magnitude);
    const int fraction = static_cast<int>(std::ldexp(magnitude, 10 - exponent)) - 0x400;
    return {static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | fraction)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

template <class T, int N>
class Placed {
 public:
  Placed(const Array<N>& values, Layout layout, bool flush_end = true)
      : Placed(values.extents, layout, constant(values, layout), flush_end) {
    std::memset(pages_.begin(), 0xff, pages_.size());
    visit([&](std::size_t i, T& element) { element = encode<T>(values.values[i]); });
  }
  /// For output.
  Placed(const std::array<std::ptrdiff_t, N>& extents, Layout layout, bool flush_end = true)
      : Placed(extents, layout, {}, flush_end) {
    std::memset(pages_.begin(), pattern, pages_.size());
  }

  View<T, N> view() const { return view_; }
  operator View<const T, N>() const { return view_; }

  /// The elements; throws std::logic_error when anything else of the region has changed.
  Array<N> take() {
    Array<N> values(view_.extents);
    visit([&](std::size_t i, T& element) {
      values.values[i] = static_cast<double>(element);
      std::memset(static_cast<void*>(&element), pattern, sizeof(T));
    });
    if (!untouched()) throw std::logic_error("memory outside an output view was written");
    return values;
  }

  /// The elements as they are.
  Array<N> read() const {
    Array<N> values(view_.extents);
    visit([&](std::size_t i, const T& element) { values.values[i] = static_cast<double>(element); });
    return values;
  }

  /// Whether an output region holds what it held at the start.
  bool untouched() const {
    // All bytes equal the first one and that is the pattern.
    const std::byte* const bytes = pages_.begin();
    return pages_.size() == 0 ||
           (bytes[0] == std::byte{pattern} && std::memcmp(bytes, bytes + 1, pages_.size() - 1) == 0);
  }

 private:
  static constexpr unsigned char pattern = 0xa5;

  Placed(const std::array<std::ptrdiff_t, N>& extents, Layout layout,
         const std::array<bool, N>& constant_along, bool flush_end)
      : placement_(place<N>(extents, layout, sizeof(T), constant_along)),
        pages_(static_cast<std::size_t>(placement_.size) * sizeof(T)) {
    const std::size_t slack = pages_.size() - static_cast<std::size_t>(placement_.size) * sizeof(T);
    view_ = {reinterpret_cast<T*>(pages_.begin() + (flush_end ? slack : 0)) + placement_.origin, extents,
             placement_.strides};
  }

  static std::array<bool, N> constant(const Array<N>& values, Layout layout) {
    std::array<bool, N> along{};
    if (layout != Layout::repeated) return along;
    std::size_t inner = values.values.size();
    for (std::size_t axis = 0; axis < N; ++axis) {
      const auto extent = static_cast<std::size_t>(values.extents[axis]);
      if (extent == 0) return {};
      const std::size_t outer = inner;
      inner /= extent;
      along[axis] = true;
      for (std::size_t i = 0; i < values.values.size(); ++i) {
        const double first = values.values[i / outer * outer + i % inner];
        if (std::bit_cast<std::uint64_t>(first) != std::bit_cast<std::uint64_t>(values.values[i]))
          along[axis] = false;
      }
    }
    return along;
  }

  // Calls function(row-major index, element) for every element of the view, line by line of the last axis.
  template <class Function>
  void visit(Function function) const {
    const std::ptrdiff_t length = view_.extents[N - 1];
    std::size_t lines = length == 0 ? 0 : 1;
    for (std::size_t axis = 0; axis + 1 < N; ++axis) lines *= static_cast<std::size_t>(view_.extents[axis]);
    for (std::size_t line = 0; line < lines; ++line) {
      std::size_t rest = line;
      T* first = view_.data;
      for (std::size_t axis = N - 1; axis-- > 0;) {
        const auto extent = static_cast<std::size_t>(view_.extents[axis]);
        first += static_cast<std::ptrdiff_t>(rest % extent) * view_.strides[axis];
        rest /= extent;
      }
      std::size_t index = line * static_cast<std::size_t>(length);
      for (std::ptrdiff_t i = 0; i < length; ++i) function(index++, first[i * view_.strides[N - 1]]);
    }
  }

  Placement<N> placement_;
  GuardedPages pages_;
  View<T, N> view_;
};

}  // namespace rapt::test
