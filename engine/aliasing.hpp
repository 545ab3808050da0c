// Whether strided views share memory. Exact, not by bounding ranges: two halves of one interleaved buffer do
// not overlap.
#pragma once

#include <array>
#include <cstddef>

#include <rapt/view.hpp>

namespace rapt {

/// A strided view of at most four axes without its element type; strides in bytes.
struct Footprint {
  const char* name = "";
  std::array<const char*, 4> axes{};  // names of the axes, for messages
  const void* data = nullptr;
  std::size_t rank = 0;
  std::ptrdiff_t element_size = 0;
  std::array<std::ptrdiff_t, 4> extents{}, strides{};
};

/// Whether the view has elements at all.
bool is_empty(const Footprint& view);

/// Whether every byte offset of the view fits in ptrdiff_t, twice over. The functions below require it.
bool is_addressable(const Footprint& view);

/// Whether two different indices name the same element.
bool repeats_elements(const Footprint& view);

/// Whether some byte belongs to both. Says yes where the answer would take too long to find (strides that no
/// array library makes).
bool overlap(const Footprint& a, const Footprint& b);

}  // namespace rapt
