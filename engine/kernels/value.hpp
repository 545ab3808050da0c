// Value sums of a tile of rows over one block, folded into the rows' accumulators (the a of step 4, and step
// 5 of the contract).
#pragma once

#include "kernels/merge.hpp"
#include "kernels/score.hpp"

namespace rapt::kernels {

/// How a tile's sums join its rows: the first block is taken as it is, a later one is folded, the only one is
/// divided by the row's sum; a row with no seen key is left alone.
enum class Join : unsigned char { none, take, fold, finish };
template <class T>
struct RowJoin {
  Join how;
  FoldFactors<T> by;  // fold
  Divisor<T> sum;     // finish
};

template <class T, class Arch, std::size_t V>
RAPT_INLINE void join(const RowJoin<T>& row, T* acc, const Batch<T, Arch> (&sums)[V],
                      Size pitch = NV) noexcept {
  const auto at = [&](std::size_t v) __attribute__((always_inline)) {
    const Size vector = static_cast<Size>(v);
    return acc + (vector / NV * pitch + vector % NV) * width<T, Arch>;
  };
  if (row.how == Join::finish) {
    Batch<T, Arch> quotients[V];
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) quotients[v] = sums[v];
    Quotients<T, Arch>(row.sum).divide(quotients);
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) simd::store(at(v), quotients[v]);
  } else if (row.how == Join::fold) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v)
      simd::store(at(v), fold_acc<T, Arch>(simd::load<Arch>(at(v)), sums[v], row.by));
  } else if (row.how == Join::take) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) simd::store(at(v), sums[v]);
  }
}

/// The R - 1 keys of a staircase: row r sees the first r of them. Without a branch in sight, since it ends
/// every causal tile.
template <class T, class Arch, int R, int V, class S>
RAPT_INLINE void staircase_keys(Accumulators<T, Arch, R, V>& acc, const T* w, Panels<S> v) noexcept {
#pragma GCC unroll 16
  for (int key = 0; key + 1 < R; ++key) {
    Batch<T, Arch> right[V];
    v.template load<T, Arch, V>(key, right);
#pragma GCC unroll 16
    for (int r = 1; r < R; ++r) {
      if (r <= key) continue;
      const Batch<T, Arch> left = simd::broadcast<Arch>(w[r * score_stride<T> + key]);
#pragma GCC unroll 16
      for (int x = 0; x < V; ++x) simd::add_product(acc.sum[r][x], left, right[x]);
    }
  }
}

/// Keys that only some rows of the tile see: each row adds its own, in position order, inside the same
/// registers.
template <class T, class Arch, int R, int V, class S>
RAPT_INLINE void ragged_keys(Accumulators<T, Arch, R, V>& acc, const T* w, Panels<S> v, KeyRange keys,
                             const KeyRange* rows) noexcept {
#pragma GCC unroll 1
  for (Size key = keys.lo; key < keys.hi; ++key) {
    Batch<T, Arch> right[V];
    v.template load<T, Arch, V>(key, right);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      if (key < rows[r].lo || key >= rows[r].hi) continue;
      const Batch<T, Arch> left = simd::broadcast<Arch>(w[r * score_stride<T> + key]);
#pragma GCC unroll 16
      for (int x = 0; x < V; ++x) simd::add_product(acc.sum[r][x], left, right[x]);
    }
  }
}

template <class T, class S, class Arch>
RAPT_INLINE Panels<S> value_panels(const AttendArgs<T, S>& args, Size vector, Size pitch = NV) noexcept {
  return {args.v + vector / NV * args.v_stride, pitch / NV * args.v_stride, args.v_key_stride, args.far};
}

template <class T, class Arch, class S>
RAPT_INLINE Size value_vectors(const AttendArgs<T, S>& args) noexcept {
  return (args.v_dim + width<T, Arch> - 1) / width<T, Arch>;
}

/// The panels that value_tile begins with: how many, and from one to the next.
struct ValueStreams {
  Size count, stride;
};
template <class T, class S, class Arch, int R>
RAPT_INLINE ValueStreams first_streams(const AttendArgs<T, S>& args) noexcept {
  const Size groups =
      takes_turns<T, S, R> && args.in_memory ? value_vectors<T, Arch>(args) / vectors_in_turns : 0;
  if (groups > 0) return {vectors_in_turns / NV, groups * args.v_stride};
  return {(streamed_vectors<T, S, R> + NV - 1) / NV, args.v_stride};
}

/// The tile's rows see [all.lo, all.hi) together and [common.lo, common.hi) each; staircase: row r ends at
/// common.hi + r. Keys behind a row's own
/// range are skipped, never multiplied by 0: they may hold NaN.
template <class T, class S, class Arch, int R>
RAPT_INLINE void value_tile(const AttendArgs<T, S>& args, const T* w, KeyRange all, KeyRange common,
                            bool staircase, const KeyRange* rows, const RowJoin<T>* joins,
                            T* acc_rows) noexcept {
  const Size vectors = value_vectors<T, Arch>(args);
  for_streamed_vectors<streamed_vectors<T, S, R>, takes_turns<T, S, R>>(
      vectors, args.in_memory, [&]<int V>(Size vector, Size pitch) __attribute__((always_inline)) {
        const Panels<S> v = value_panels<T, S, Arch>(args, vector, pitch);
        // Out of line, and on a copy: taking the accumulators' own address would keep them out of registers.
        const auto ragged = [&](Accumulators<T, Arch, R, V> & sums, KeyRange keys)
            __attribute__((always_inline)) {
          Accumulators<T, Arch, R, V> copy = sums;
          ragged_keys(copy, w, v, keys, rows);
          sums = copy;
        };
        Accumulators<T, Arch, R, V> acc;
        acc.clear();
        if (all.lo < common.lo) ragged(acc, {all.lo, common.lo});
        fused_product(acc, w + common.lo, score_stride<T>, v.from(common.lo), common.hi - common.lo,
                      *args.ahead);
        if constexpr (R > 1) {
          if (staircase) staircase_keys(acc, w + common.hi, v.from(common.hi));
        }
        if (!staircase && common.hi < all.hi) ragged(acc, {common.hi, all.hi});
        T* to = acc_rows + vector * width<T, Arch>;
        const RowJoin<T>* how = simd::opaque(joins);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) join<T, Arch>(how[r], to + r * args.state.acc_stride, acc.sum[r], pitch);
      });
}

/// One row that does not see every key of its range: its own keys, in position order.
template <class T, class S, class Arch>
void value_row(const AttendArgs<T, S>& args, const T* w, const short* seen, Size count, const RowJoin<T>& how,
               T* acc_row) noexcept {
  const Size vectors = value_vectors<T, Arch>(args);
  for_vectors<streamed_vectors<T, S, 1>>(
      vectors, [&]<int V>(Size vector) __attribute__((always_inline)) {
        const Panels<S> v = value_panels<T, S, Arch>(args, vector);
        Accumulators<T, Arch, 1, V> acc;
        acc.clear();
#pragma GCC unroll 1
        for (Size i = 0; i < count; ++i) {
          Batch<T, Arch> right[V];
          v.template load<T, Arch, V>(seen[i], right);
          const Batch<T, Arch> left = simd::broadcast<Arch>(w[seen[i]]);
#pragma GCC unroll 16
          for (int x = 0; x < V; ++x) acc.sum[0][x] = simd::fma(left, right[x], acc.sum[0][x]);
        }
        join<T, Arch>(how, acc_row + vector * width<T, Arch>, acc.sum[0]);
      });
}

}  // namespace rapt::kernels
