// What every refusal of a view has in common: its shape in words, and the checks that validate.cpp and the KV
// cache share. Nothing here allocates unless it refuses.
#pragma once

#include <rapt/dtype.hpp>

#include <charconv>
#include <span>
#include <string>

#include "aliasing.hpp"
#include "score_factors.hpp"

namespace rapt {

using Axes = std::array<const char*, 4>;

inline constexpr Axes q_axes{"batch", "n_heads", "q_len", "head_dim"};
inline constexpr Axes k_axes{"batch", "n_kv_heads", "kv_len", "head_dim"};
inline constexpr Axes v_axes{"batch", "n_kv_heads", "kv_len", "v_dim"};
inline constexpr Axes out_axes{"batch", "n_heads", "q_len", "v_dim"};
inline constexpr Axes pair_axes{"batch", "n_heads", "q_len", "kv_len"};
inline constexpr Axes key_axes{"batch", "kv_len"};
inline constexpr Axes query_axes{"batch", "q_len"};

/// Throws invalid_input "argument: why".
[[noreturn]] void refuse(const std::string& argument, const std::string& why);

/// A number as the shortest text that reads back as it.
template <class Number>
std::string number_text(Number number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

// What a check refuses with. Checks stand in headers: a decode step makes some fifty of them.
[[noreturn]] void refuse_address(Footprint view);
[[noreturn]] void refuse_repeats(const Footprint& output);
[[noreturn]] void refuse_overlap(const Footprint& output, const Footprint& other);
[[noreturn]] void refuse_different(const Footprint& view, std::size_t axis, const Footprint& other,
                                   std::size_t other_axis);

/// Finds the view's range. Refuses a negative extent, elements at null, and a reach that cannot be counted.
inline void require_addressable(Footprint& view) {
  if (!find_range(view) || (view.data == nullptr && !is_empty(view))) refuse_address(view);
}

template <class E, int N>
Footprint footprint(const char* name, const Axes& axes, const View<E, N>& view) {
  Footprint result{name, axes, view.data, N, sizeof(E), {}, {}};
  for (std::size_t axis = 0; axis < N; ++axis) {
    result.extents[axis] = view.extents[axis];
    // Saturates, so that find_range sees it.
    if (__builtin_mul_overflow(view.strides[axis], result.element_size, &result.strides[axis])) {
      result.strides[axis] = PTRDIFF_MAX;
    }
  }
  require_addressable(result);
  return result;
}

/// "head_dim 64"
std::string named(const Footprint& view, std::size_t axis);

void require_positive(const Footprint& view, std::size_t axis);
inline void require_same(const Footprint& view, std::size_t axis, const Footprint& other,
                         std::size_t other_axis) {
  if (view.extents[axis] != other.extents[other_axis]) refuse_different(view, axis, other, other_axis);
}

/// Refuses a scale that is not finite, or that is not in T once it is multiplied by log2 e.
template <class T>
void require_scale(const std::optional<double>& scale) {
  if (!scale || std::isfinite(ScoreFactors<T>(scale, 1).c)) return;
  const char* const where = sizeof(T) == sizeof(float) ? "single" : "double";
  refuse("scale", number_text(*scale) + ", expected a finite number" +
                      (std::isfinite(*scale) ? std::string(" times log2 e in ") + where + " precision" : ""));
}

/// Refuses what is no enumerator.
void require_arithmetic(Arithmetic arithmetic);

/// Refuses an output that names an element twice.
inline void require_distinct(const Footprint& output) {
  if (repeats_elements(output)) refuse_repeats(output);
}
/// Refuses an output that shares memory with an input or another output.
inline void require_apart(const Footprint& output, const Footprint& other) {
  if (overlap(output, other)) refuse_overlap(output, other);
}
/// Both, of any number of them.
void require_apart(std::span<const Footprint> inputs, std::span<const Footprint> outputs);

}  // namespace rapt
