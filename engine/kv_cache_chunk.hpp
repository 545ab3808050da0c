// The tokens and rows of one call to a KV cache, numbered by positions, and the scratch that it needs.
#pragma once

#include "kv_cache_run.hpp"

namespace rapt {

using KvMask = std::optional<View<const bool, 2>>;

/// Real tokens of a chunk.
template <class T>
struct KvTokenScratch {
  KvTokens* tokens;  // [batch], those to store next
  T* lines;          // [slots][head_dim]
  Size* index;       // null, or with a mask [batch][len]: the chunk's index of each real token

  KvTokenScratch(const KvLayout& layout, Size len, bool masked, Size slots, Carver& memory)
      : tokens(memory.take<KvTokens>(layout.batch)),
        lines(memory.take<T>(element_count(slots, layout.head_dim))),
        index(masked ? memory.take<Size>(element_count(layout.batch, len)) : nullptr) {}
};

/// Rows of a chunk, taken `step` at a time.
template <class S>
struct KvRowScratch {
  using T = ArithmeticOf<S>;
  Size* ends;  // [batch][len], see KvCall
  T* rotated;  // null, or with rotation [batch][n_heads][step][head_dim]
  KvRun<S> run;

  KvRowScratch(const KvCall<S>& call, Size len, Size step, bool rotates, Size slots, Carver& memory)
      : ends(memory.take<Size>(element_count(call.shape.batch, len))),
        rotated(rotates ? memory.take<T>(element_count(element_count(call.shape.batch, call.shape.n_heads),
                                                       element_count(step, call.shape.head_dim)))
                        : nullptr),
        run(call, step, slots, memory) {}
};

/// Lists the real tokens of sequence b in index; returns how many.
inline Size list_real(const View<const bool, 2>& mask, Size b, Size* index) noexcept {
  Size count = 0;
  for (Size t = 0; t < mask.extents[1]; ++t)
    if (mask(b, t)) index[count++] = t;
  return count;
}

/// Ends of rows behind `length` stored tokens: each sees the real ones up to itself.
inline void number_appended(const KvMask& mask, Size b, Size length, Size len, Size* ends) noexcept {
  for (Size t = 0; t < len; ++t) ends[t] = length += mask ? (*mask)(b, t) : 1;
}

/// Ends of rows over `length` stored tokens: the real ones are the last positions.
inline void number_stored(const KvMask& mask, Size b, Size length, Size len, Size* ends) noexcept {
  Size rows = len;
  if (mask) {
    rows = 0;
    for (Size t = 0; t < len; ++t) rows += (*mask)(b, t);
  }
  Size end = length - rows;
  for (Size t = 0; t < len; ++t) {
    const bool real = !mask || (*mask)(b, t);
    ends[t] = real && ++end > 0 ? end : 0;
  }
}

}  // namespace rapt
