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

template <class T, class Arch, int R, int P = panels_at_once<R>>
RAPT_INLINE void score_panels(const AttendArgs<T>& args, const T* q, Size panel, Size last_panel,
                              T* s) noexcept {
#pragma GCC unroll 1
  for (; panel + P <= last_panel; panel += P) {
    Accumulators<T, Arch, R, P> acc;
    acc.clear();
    tile_product<FusedStep>(acc, q, args.q_stride, args.k + panel * args.k_stride, args.k_stride,
                            args.head_dim);
    acc.write(s + panel * NR<T, Arch>, score_stride<T>);
  }
  if constexpr (P > 1) score_panels<T, Arch, R, P / 2>(args, q, panel, last_panel, s);
}

/// All panels that hold a key of `keys`; what else a panel holds is computed and never looked at.
template <class T, class Arch, int R>
RAPT_INLINE void score_tile(const AttendArgs<T>& args, const T* q, KeyRange keys, T* s) noexcept {
  score_panels<T, Arch, R>(args, q, keys.lo / NR<T, Arch>, (keys.hi + NR<T, Arch> - 1) / NR<T, Arch>, s);
}

}  // namespace rapt::kernels
