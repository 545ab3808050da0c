// The multiply entry: walks tiles over a block of rows and packed panels. Contract in kernel_table.hpp.
#pragma once

#include "kernels/tile.hpp"

namespace rapt::kernels {

/// V vectors under one tile of R rows. `columns` counts those that exist from c on; the last vector may be
/// cut, and then the tile works on a copy of its corner.
template <class Step, class T, class Arch, int R, int V>
RAPT_INLINE void multiply_tile(const MultiplyArgs<T>& args, const T* a, const T* b, T* c,
                               Size columns) noexcept {
  constexpr Size edge_stride = V * width<T, Arch>;
  const bool cut = columns < edge_stride;
  T edge[R * edge_stride];
  if (cut && args.accumulate) {
    for (Size r = 0; r < R; ++r)
      for (Size j = 0; j < edge_stride; ++j)
        edge[r * edge_stride + j] = j < columns ? c[r * args.c_stride + j] : T(0);
  }
  T* target = cut ? edge : c;
  const Size target_stride = cut ? edge_stride : args.c_stride;
  Accumulators<T, Arch, R, V> acc;
  if (args.accumulate)
    acc.read(target, target_stride);
  else
    acc.clear();
  tile_product<Step>(acc, a, args.a_stride, Panels<T>{b, args.b_stride, NR<T, Arch>, args.b_far}, args.steps);
  acc.write(target, target_stride);
  if (!cut) return;
  for (Size r = 0; r < R; ++r)
    for (Size j = 0; j < columns; ++j) c[r * args.c_stride + j] = edge[r * edge_stride + j];
}

template <class Step, class T, class Arch>
void multiply(const MultiplyArgs<T>& args) noexcept {
  constexpr Size w = width<T, Arch>;
  const Size vectors = (args.columns + w - 1) / w;
  const auto tile = [&]<int R, int V>(Size row, Size vector) __attribute__((always_inline)) {
    multiply_tile<Step, T, Arch, R, V>(args, args.a + row * args.a_stride,
                                       args.b + vector / NV * args.b_stride,
                                       args.c + row * args.c_stride + vector * w, args.columns - vector * w);
  };
  // Panels outside, rows inside: the rows of the left operand are fewer bytes, and stay closer.
  const Size whole_tiles = rows_in_whole_tiles(args.rows);
  for_vectors<vectors_at_once<MR>>(
      vectors, [&]<int V>(Size vector) __attribute__((always_inline)) {
#pragma GCC unroll 1
        for (Size row = 0; row < whole_tiles; row += MR) tile.template operator()<MR, V>(row, vector);
      });
  for_rows_left(
      args.rows - whole_tiles, [&]<int R>(Size row) __attribute__((always_inline)) {
        for_vectors<vectors_at_once<R>>(
            vectors, [&]<int V>(Size vector) __attribute__((always_inline)) {
              tile.template operator()<R, V>(whole_tiles + row, vector);
            });
      });
}

}  // namespace rapt::kernels
