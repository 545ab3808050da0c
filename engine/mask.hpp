// Which keys a row is offered: causal corner, window, lengths and padding as one interval of positions. Pure
// functions.
#pragma once

#include <rapt/attention.hpp>

#include <algorithm>

namespace rapt {

/// The real keys of one sequence. Positions number them from 0; padding has none.
struct SequenceKeys {
  std::ptrdiff_t length;        // L: array indices before it are of the sequence, real or padded
  std::ptrdiff_t count;         // real keys
  const std::ptrdiff_t* index;  // the array index of each position, ascending; null when they are the same
};

/// Positions [begin, end) that a row is offered, {0, 0} for none. Its own position is end - 1. Of a
/// sequence's rows that are offered any, begins and ends never fall.
struct Offered {
  std::ptrdiff_t begin, end;
};

/// window: at least 1, or no_window.
inline constexpr std::ptrdiff_t no_window = PTRDIFF_MAX;

/// Real keys whose array index is at most `limit`.
inline std::ptrdiff_t real_keys_up_to(const SequenceKeys& keys, std::ptrdiff_t limit) noexcept {
  return std::upper_bound(keys.index, keys.index + keys.count, limit) - keys.index;
}

inline Offered offered_keys(const SequenceKeys& keys, Causal causal, std::ptrdiff_t window,
                            std::ptrdiff_t q_len, std::ptrdiff_t i) noexcept {
  if (causal == Causal::none) return {0, keys.count};
  const std::ptrdiff_t limit = causal == Causal::top_left ? i : i + keys.length - q_len;
  if (limit < 0) return {0, 0};
  const std::ptrdiff_t end =
      keys.index == nullptr ? std::min(limit + 1, keys.count) : real_keys_up_to(keys, limit);
  return {window < end ? end - window : 0, end};
}

/// All that rows [first, last) are offered together. Ends rise by at most one key a row, so that the union
/// has no gap.
inline Offered offered_to_rows(const SequenceKeys& keys, Causal causal, std::ptrdiff_t window,
                               std::ptrdiff_t q_len, std::ptrdiff_t first, std::ptrdiff_t last) noexcept {
  while (first < last && offered_keys(keys, causal, window, q_len, first).end == 0) ++first;
  if (first >= last) return {0, 0};
  return {offered_keys(keys, causal, window, q_len, first).begin,
          offered_keys(keys, causal, window, q_len, last - 1).end};
}

}  // namespace rapt
