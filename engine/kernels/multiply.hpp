// The multiply entry: walks tiles over a block of rows and packed panels. Contract in kernel_table.hpp.
#pragma once

#include "kernels/tile.hpp"

namespace rapt::kernels {

/// P neighbouring panels under one tile of R rows. `columns` counts those that exist from c on; the last
/// panel may be cut.
template <class Step, class T, class Arch, int R, int P>
RAPT_INLINE void multiply_tile(const MultiplyArgs<T>& args, const T* a, const T* b, T* c,
                               Size columns) noexcept {
  Accumulators<T, Arch, R, P> acc;
  if (columns >= P * NR<T, Arch>) {
    if (args.accumulate)
      acc.read(c, args.c_stride);
    else
      acc.clear();
    tile_product<Step>(acc, a, args.a_stride, b, args.b_stride, args.steps);
    acc.write(c, args.c_stride);
    return;
  }
  constexpr Size edge_stride = P * NR<T, Arch>;
  T edge[R * edge_stride];
  for (Size r = 0; r < R; ++r)
    for (Size j = 0; j < edge_stride; ++j)
      edge[r * edge_stride + j] = args.accumulate && j < columns ? c[r * args.c_stride + j] : T(0);
  acc.read(edge, edge_stride);
  tile_product<Step>(acc, a, args.a_stride, b, args.b_stride, args.steps);
  acc.write(edge, edge_stride);
  for (Size r = 0; r < R; ++r)
    for (Size j = 0; j < columns; ++j) c[r * args.c_stride + j] = edge[r * edge_stride + j];
}

/// A strip of R rows across all panels: P at a time, then half as many, down to one.
template <class Step, class T, class Arch, int R, int P = panels_at_once<R>>
RAPT_INLINE void multiply_strip(const MultiplyArgs<T>& args, Size row, Size column) noexcept {
#pragma GCC unroll 1
  for (; column + (P > 1 ? P * NR<T, Arch> : 1) <= args.columns; column += P * NR<T, Arch>) {
    multiply_tile<Step, T, Arch, R, P>(args, args.a + row * args.a_stride,
                                       args.b + column / NR<T, Arch> * args.b_stride,
                                       args.c + row * args.c_stride + column, args.columns - column);
  }
  if constexpr (P > 1) multiply_strip<Step, T, Arch, R, P / 2>(args, row, column);
}

template <class Step, class T, class Arch>
void multiply(const MultiplyArgs<T>& args) noexcept {
  // Panels outside, rows inside: a panel stays in L1 while the rows of the left operand come from L2.
  const Size whole_tiles = args.rows - args.rows % MR;
  for (Size column = 0; column < args.columns; column += NR<T, Arch>) {
    for (Size row = 0; row < whole_tiles; row += MR) {
      multiply_tile<Step, T, Arch, MR, 1>(args, args.a + row * args.a_stride,
                                          args.b + column / NR<T, Arch> * args.b_stride,
                                          args.c + row * args.c_stride + column, args.columns - column);
    }
  }
  for_row_tiles(
      args.rows - whole_tiles, [&]<int R>(Size row) __attribute__((always_inline)) {
        multiply_strip<Step, T, Arch, R>(args, whole_tiles + row, 0);
      });
}

}  // namespace rapt::kernels
