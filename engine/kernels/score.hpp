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
    constexpr int rows = V == 3 && R * V > registers ? R / 2 : R;
    const Size vector = first + offset;
    const Panels<S> k{args.k + vector / NV * args.k_stride, pitch / NV * args.k_stride, NR<T, Arch>,
                      args.far};
#pragma GCC unroll 1
    for (int r = 0; r < R; r += rows) {
      Accumulators<T, Arch, rows, V> acc;
      acc.clear();
      fused_product(acc, q + r * args.q_stride, args.q_stride, k, args.head_dim, *args.ahead);
      acc.write(s + r * score_stride<T> + vector * w, score_stride<T>, pitch);
    }
  };
  // What would be bound by latency goes with the vectors before it: a panel left of one row, a vector left of
  // MR rows (three vectors of six rows are more sums than 16 registers, so half of the rows at a time).
  Size vectors = last - first;
  if constexpr (R == 1) {
    const Size left = vectors % at_once;
    if (left > 0 && left <= NV && vectors > at_once) {
      vectors -= at_once + left;
      product.template operator()<at_once + NV>(vectors, NV);
    }
  } else if constexpr (R == MR) {
    if (vectors >= 3 && vectors % at_once == 3 % at_once) {
      vectors -= 3;
      product.template operator()<3>(vectors, NV);
    }
  }
  for_streamed_vectors<at_once, takes_turns<T, S, R>>(vectors, args.in_memory, product);
}

}  // namespace rapt::kernels
