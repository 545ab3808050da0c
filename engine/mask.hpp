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

/// What each row of a sequence is offered: a function of the row's index that holds all it needs.
struct OfferedKeys {
  SequenceKeys keys;
  std::ptrdiff_t window;
  std::ptrdiff_t corner;  // row i is offered keys of array indices before i + corner

  OfferedKeys(const SequenceKeys& keys_, Causal causal, std::ptrdiff_t window_, std::ptrdiff_t q_len) noexcept
      : keys(keys_),
        window(window_),
        corner(causal == Causal::none       ? keys.length
               : causal == Causal::top_left ? 1
                                            : 1 + keys.length - q_len) {}

  Offered operator()(std::ptrdiff_t i) const noexcept {
    const std::ptrdiff_t end = real_keys_before(i + corner);
    return {std::max<std::ptrdiff_t>(end - window, 0), end};
  }

  /// All that rows [0, rows) are offered together. Ends rise by at most one key a row, so that the union has
  /// no gap.
  Offered to_rows(std::ptrdiff_t rows) const noexcept {
    std::ptrdiff_t first = 0;
    while (first < rows && (*this)(first).end == 0) ++first;
    if (first >= rows) return {0, 0};
    return {(*this)(first).begin, (*this)(rows - 1).end};
  }

 private:
  std::ptrdiff_t real_keys_before(std::ptrdiff_t limit) const noexcept {
    return keys.index == nullptr ? std::clamp<std::ptrdiff_t>(limit, 0, keys.count)
                                 : find_before(keys, limit);
  }
  // A search by itself: in a loop over rows, GCC does worse by those that need none.
  [[gnu::noinline]] static std::ptrdiff_t find_before(const SequenceKeys& keys,
                                                      std::ptrdiff_t limit) noexcept {
    if (limit >= keys.length) return keys.count;
    return std::lower_bound(keys.index, keys.index + keys.count, limit) - keys.index;
  }
};

}  // namespace rapt
