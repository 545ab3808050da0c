// The arithmetic of a KV cache's ring: which positions are held, where they lie, how far back a rollback may
// go. Pure functions.
//
// A sequence's tokens lie in blocks of 256 positions, as the numeric contract cuts them: position p in block
// p / 256 of the sequence, which is block (p / 256) mod blocks of the ring, at slot p mod 256.
#pragma once

#include <algorithm>

#include "kernels/kernel_table.hpp"
#include "mask.hpp"

namespace rapt {

/// Positions [first, length) of one sequence are held.
struct KvSequence {
  std::ptrdiff_t first = 0, length = 0;
};

struct KvRing {
  std::ptrdiff_t capacity, window;  // window: no_window for none
  std::ptrdiff_t blocks;

  KvRing(std::ptrdiff_t capacity_, std::ptrdiff_t window_) noexcept
      : capacity(capacity_),
        window(window_),
        // With a window, one more: while a block is overwritten from its start, the positions it held are out
        // of the capacity already.
        blocks(capacity_ / kernels::block_keys + (capacity_ % kernels::block_keys != 0) +
               (window_ != no_window)) {}

  std::ptrdiff_t slots() const noexcept { return blocks * kernels::block_keys; }
  /// The ring's block of a block of the sequence.
  std::ptrdiff_t place_of(std::ptrdiff_t block) const noexcept {
    return block < blocks ? block : block % blocks;
  }

  /// What a row sees whose own position is end - 1.
  Offered offered(std::ptrdiff_t end) const noexcept {
    return {std::max<std::ptrdiff_t>(end - window, 0), end};
  }

  bool fits(const KvSequence& sequence, std::ptrdiff_t tokens) const noexcept {
    return window != no_window || tokens <= capacity - sequence.length;
  }
  /// After `tokens` more, which fit.
  KvSequence appended(const KvSequence& sequence, std::ptrdiff_t tokens) const noexcept {
    const std::ptrdiff_t length = sequence.length + tokens;
    return {std::max(sequence.first, length - capacity), length};
  }
  /// Tokens that may be written behind the sequence while every row from its end on still finds its window.
  std::ptrdiff_t slack() const noexcept { return window == no_window ? capacity : slots() - window; }

  /// The shortest length, 0 apart, that leaves the next token its window.
  std::ptrdiff_t shortest_length(const KvSequence& sequence) const noexcept {
    return sequence.first == 0 ? 0 : sequence.first + window - 1;
  }
};

}  // namespace rapt
