// Value sums of a tile of rows over one block, folded into the rows' accumulators (the a of step 4, and step
// 5 of the contract).
#pragma once

#include "kernels/merge.hpp"
#include "kernels/score.hpp"

namespace rapt::kernels {

/// How a tile's sums join its rows: the first block is taken as it is, a later one is folded, a row with no
/// seen key is left alone.
enum class Join : unsigned char { none, take, fold };
template <class T>
struct RowJoin {
  Join how;
  FoldFactors<T> by;
};

template <class T, class Arch>
RAPT_INLINE void join(RowJoin<T> row, T* acc, const Batch<T, Arch>& sum) noexcept {
  if (row.how == Join::take) simd::store(acc, sum);
  if (row.how == Join::fold) simd::store(acc, fold_acc<T, Arch>(simd::load<Arch>(acc), sum, row.by));
}

/// Keys that only some rows of the tile see: each row adds its own, in position order, inside the same
/// registers.
template <class T, class Arch, int R>
RAPT_INLINE void ragged_keys(Accumulators<T, Arch, R, 1>& acc, const T* w, const T* v, KeyRange keys,
                             const KeyRange* rows) noexcept {
  for (Size key = keys.lo; key < keys.hi; ++key) {
    Batch<T, Arch> right[NV];
#pragma GCC unroll 4
    for (int x = 0; x < NV; ++x) right[x] = simd::load<Arch>(v + key * NR<T, Arch> + x * width<T, Arch>);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      if (key < rows[r].lo || key >= rows[r].hi) continue;
      const Batch<T, Arch> left = simd::broadcast<Arch>(w[r * score_stride<T> + key]);
#pragma GCC unroll 4
      for (int x = 0; x < NV; ++x) acc.sum[r][x] = simd::fma(left, right[x], acc.sum[r][x]);
    }
  }
}

/// The tile's rows see [all.lo, all.hi) together and [common.lo, common.hi) each. Keys behind a row's own
/// range are skipped, never multiplied by 0: they may hold NaN.
template <class T, class Arch, int R>
RAPT_INLINE void value_tile(const AttendArgs<T>& args, const T* w, KeyRange all, KeyRange common,
                            const KeyRange* rows, const RowJoin<T>* joins, T* acc_rows) noexcept {
  for (Size column = 0; column < args.v_dim; column += NR<T, Arch>) {
    const T* v = args.v + column / NR<T, Arch> * args.v_stride;
    Accumulators<T, Arch, R, 1> acc;
    acc.clear();
    ragged_keys<T, Arch, R>(acc, w, v, {all.lo, common.lo}, rows);
    tile_product<FusedStep>(acc, w + common.lo, score_stride<T>, v + common.lo * NR<T, Arch>, Size{0},
                            common.hi - common.lo);
    ragged_keys<T, Arch, R>(acc, w, v, {common.hi, all.hi}, rows);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int x = 0; x < NV; ++x)
        join<T, Arch>(joins[r], acc_rows + r * args.state.acc_stride + column + x * width<T, Arch>,
                      acc.sum[r][x]);
  }
}

/// One row that does not see every key of its range: its own keys, in position order.
template <class T, class Arch>
void value_row(const AttendArgs<T>& args, const T* w, const short* seen, Size count, RowJoin<T> how,
               T* acc_row) noexcept {
  for (Size column = 0; column < args.v_dim; column += NR<T, Arch>) {
    const T* v = args.v + column / NR<T, Arch> * args.v_stride;
    Batch<T, Arch> sum[NV];
#pragma GCC unroll 4
    for (int x = 0; x < NV; ++x) sum[x] = simd::broadcast<Arch>(T(0));
    for (Size i = 0; i < count; ++i) {
      const Batch<T, Arch> left = simd::broadcast<Arch>(w[seen[i]]);
#pragma GCC unroll 4
      for (int x = 0; x < NV; ++x)
        sum[x] = simd::fma(left, simd::load<Arch>(v + seen[i] * NR<T, Arch> + x * width<T, Arch>), sum[x]);
    }
#pragma GCC unroll 4
    for (int x = 0; x < NV; ++x) join<T, Arch>(how, acc_row + column + x * width<T, Arch>, sum[x]);
  }
}

}  // namespace rapt::kernels
