// Scores of a tile of rows against the keys of one block: s[r][key] = q[r] . k[key], one chain a score (step
// 1 of the contract).
#pragma once

#include "kernels/tile.hpp"

namespace rapt::kernels {

/// Row stride of scores and exponents in scratch: a block of keys and a cache line more, so that rows do not
/// share L1 sets.
template <class T>
inline constexpr Size score_stride = block_keys + static_cast<Size>(64 / sizeof(T));

/// Keys of the block that rows see, relative to its start: [lo, hi).
struct KeyRange {
  Size lo, hi;
};

/// All vectors that hold a key of `keys`; what else they hold is computed and never looked at.
template <class T, class S, class Arch, int R>
RAPT_INLINE void score_tile(const AttendArgs<T, S>& args, const T* q, KeyRange keys, T* s) noexcept {
  constexpr Size w = width<T, Arch>;
  // From the start of a panel on, so that vectors taken together never straddle one.
  const Size first = keys.lo / NR<T, Arch> * NV, last = (keys.hi + w - 1) / w;
  constexpr int at_once = streamed_vectors<T, S, R>;
  const auto product = [&]<int V>(Size offset, Size pitch) __attribute__((always_inline)) {
    const Size vector = first + offset;
    Accumulators<T, Arch, R, V> acc;
    acc.clear();
    fused_product(
        acc, q, args.q_stride,
        Panels<S>{args.k + vector / NV * args.k_stride, pitch / NV * args.k_stride, NR<T, Arch>, args.far},
        args.head_dim, *args.ahead);
    acc.write(s + vector * w, score_stride<T>, pitch);
  };
  Size vectors = last - first;
  if constexpr (R == 1) {
    // A panel left alone would be bound by latency: the vectors before it take it along.
    const Size left = vectors % at_once;
    if (left > 0 && left <= NV && vectors > at_once) {
      vectors -= at_once + left;
      product.template operator()<at_once + NV>(vectors, NV);
    }
  }
  for_streamed_vectors<at_once, takes_turns<T, S, R>, R == MR>(vectors, args.in_memory, product);
}

}  // namespace rapt::kernels
