// Whether strided views share memory. Exact, not by bounding ranges: two halves of one interleaved buffer do
// not overlap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rapt/view.hpp>

namespace rapt {

/// Addresses [begin, end).
struct AddressRange {
  std::intptr_t begin = 0, end = 0;
};

/// A strided view of at most four axes without its element type; strides in bytes.
struct Footprint {
  const char* name = "";
  std::array<const char*, 4> axes{};  // names of the axes, for messages
  const void* data = nullptr;
  std::size_t rank = 0;
  std::ptrdiff_t element_size = 0;
  std::array<std::ptrdiff_t, 4> extents{}, strides{};
  AddressRange range{};  // where its bytes are, as find_range found it: empty for a view without elements
};

/// find_range() of any view.
[[nodiscard]] bool find_any_range(Footprint& view);

/// Sets the range of a view that has none yet, which all below require. Or says no: an extent is negative, or
/// the view spans more than an eighth of the address space.
[[nodiscard]] inline bool find_range(Footprint& view) {
  // Where extents and strides are below 2^29, four axes reach less than that. One look at the bits of all of
  // them: a decode step finds ten ranges.
  std::size_t bits = 0, below = 0, above = static_cast<std::size_t>(view.element_size);
  for (std::size_t axis = 0; axis < view.rank; ++axis) {
    const bool down = view.strides[axis] < 0;
    const std::size_t most = static_cast<std::size_t>(view.extents[axis]) - 1;  // of 0, every bit
    const std::size_t stride = static_cast<std::size_t>(view.strides[axis]);
    bits |= most | (down ? ~stride : stride);
    below += down ? most * stride : 0;
    above += down ? 0 : most * stride;
  }
  if (bits >> 29U != 0) return find_any_range(view);
  const auto data = reinterpret_cast<std::intptr_t>(view.data);
  view.range = {data + static_cast<std::intptr_t>(below), data + static_cast<std::intptr_t>(above)};
  return true;
}

/// Whether the view has no elements.
inline bool is_empty(const Footprint& view) { return view.range.begin == view.range.end; }

/// Whether every index names the same element in both. (No index tells strides of axes of extent 1 apart.)
bool same_elements(const Footprint& a, const Footprint& b);

/// Whether two different indices name the same element.
bool repeats_elements(const Footprint& view);

/// overlap() of two views whose ranges meet.
bool share_a_byte(const Footprint& a, const Footprint& b);

/// Whether some byte belongs to both. Says yes where the answer would take too long to find (strides that no
/// array library makes).
inline bool overlap(const Footprint& a, const Footprint& b) {
  return a.range.begin < b.range.end && b.range.begin < a.range.end && share_a_byte(a, b);
}

}  // namespace rapt
