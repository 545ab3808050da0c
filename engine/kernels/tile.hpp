// The micro-kernel: every matrix product of rapt (projections, scores, value sums) runs in tile_product. The
// pattern to copy.
//
// A tile is R rows of the left operand times P panels of the right one. Each result is one chain over the
// steps in ascending order; the R * P * NV chains are independent and live in registers. R is MR, or less at
// the lower edge; small R takes more panels at once, because an FMA takes four cycles and two start in each:
// about eight chains must be in flight.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

namespace rapt::kernels {

/// One term of a chain. fused rounds once, textbook rounds the product and the sum.
struct FusedStep {
  template <class V>
  static RAPT_INLINE V add(const V& a, const V& b, const V& sum) noexcept {
    return simd::fma(a, b, sum);
  }
};
struct TextbookStep {
  template <class V>
  static RAPT_INLINE V add(const V& a, const V& b, const V& sum) noexcept {
    return sum + a * b;
  }
};

template <class T, class Arch, int R, int P>
struct Accumulators {
  static constexpr int vectors = P * NV;
  Batch<T, Arch> sum[R][vectors];

  RAPT_INLINE void clear() noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) sum[r][v] = simd::broadcast<Arch>(T(0));
  }
  RAPT_INLINE void read(const T* c, Size c_stride) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) sum[r][v] = simd::load<Arch>(c + r * c_stride + v * width<T, Arch>);
  }
  RAPT_INLINE void write(T* c, Size c_stride) const noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) simd::store(c + r * c_stride + v * width<T, Arch>, sum[r][v]);
  }
};

/// sum[r][v] += a[r, s] * b[s, v] for s = 0 .. steps-1. a: row r at r * a_stride. b: panel p at p * b_stride,
/// step s at s * NR.
template <class Step, class T, class Arch, int R, int P>
RAPT_INLINE void tile_product(Accumulators<T, Arch, R, P>& acc, const T* a, Size a_stride, const T* b,
                              Size b_stride, Size steps) noexcept {
#pragma GCC unroll 1
  for (Size s = 0; s < steps; ++s) {
    Batch<T, Arch> right[P * NV];
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        right[p * NV + v] = simd::load<Arch>(b + p * b_stride + s * NR<T, Arch> + v * width<T, Arch>);
        simd::pin(right[p * NV + v]);
      }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Batch<T, Arch> left = simd::broadcast<Arch>(a[r * a_stride + s]);
#pragma GCC unroll 16
      for (int v = 0; v < P * NV; ++v) acc.sum[r][v] = Step::add(left, right[v], acc.sum[r][v]);
    }
  }
}

/// Panels that a tile of R rows takes at once, so that enough chains are in flight.
template <int R>
inline constexpr int panels_at_once = R == 1   ? 4
                                      : R == 2 ? 2
                                               : 1;

/// Calls tile.template operator()<R>(first_row) over `rows` rows, the largest R first: MR, then what is left
/// of 8, 4, 2, 1.
template <class Body>
RAPT_INLINE void for_row_tiles(Size rows, const Body& tile) noexcept {
  Size row = 0;
#pragma GCC unroll 1
  for (; row + MR <= rows; row += MR) tile.template operator()<MR>(row);
  if constexpr (MR > 8)
    if (row + 8 <= rows) {
      tile.template operator()<8>(row);
      row += 8;
    }
  if constexpr (MR > 4)
    if (row + 4 <= rows) {
      tile.template operator()<4>(row);
      row += 4;
    }
  if (row + 2 <= rows) {
    tile.template operator()<2>(row);
    row += 2;
  }
  if (row < rows) tile.template operator()<1>(row);
}

}  // namespace rapt::kernels
