// Joining Partials: the fold of the numeric contract (engine/README.md, step 5), the division at its end (6)
// and the weights (7).
#pragma once

#include <cmath>

#include "kernels/kernel_table.hpp"
#include "kernels/pow2.hpp"
#include "kernels/simd_lanes.hpp"
#include "kernels/tile.hpp"

namespace rapt::kernels {

/// 2^e for an integer e <= 0, exactly 0 below the least normal exponent; NaN for NaN.
template <class T, class Arch>
RAPT_INLINE T pow2(T e) noexcept {
  return e != e ? e
                : simd::first_lane(simd::times_pow2(simd::broadcast<Arch>(T(1)), simd::broadcast<Arch>(e)));
}

/// The larger of the two; NaN where either is.
template <class T>
RAPT_INLINE T larger_or_nan(T a, T b) noexcept {
  return a != a || a > b ? a : b;
}

/// What a fold multiplies by: the row's sums by `row`, the block's by `block`. Both are exact powers of two
/// or 0.
template <class T>
struct FoldFactors {
  T row, block;
};

/// Folds a block's maximum and sum into a row's, which has some: factors for its accumulators.
template <class T, class Arch>
RAPT_INLINE FoldFactors<T> fold_sums(T& row_max, T& row_sum, T block_max, T block_sum) noexcept {
  const T both = larger_or_nan(row_max, block_max);
  const FoldFactors<T> by{pow2<T, Arch>(row_max - both), pow2<T, Arch>(block_max - both)};
  row_sum = row_sum * by.row + block_sum * by.block;
  row_max = both;
  return by;
}

template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> fold_acc(const Batch<T, Arch>& row, const Batch<T, Arch>& block,
                                    FoldFactors<T> by) noexcept {
  return row * simd::broadcast<Arch>(by.row) + block * simd::broadcast<Arch>(by.block);
}

template <class T, class Arch>
void fold(const FoldArgs<T>& args) noexcept {
  const RowState<T>&into = args.into, &block = args.block;
  for (Size r = 0; r < args.rows; ++r) {
    if (block.seen[r] == 0) continue;
    T* acc = into.acc + r * into.acc_stride;
    const T* add = block.acc + r * block.acc_stride;
    if (into.seen[r] == 0) {
      into.row_max[r] = block.row_max[r];
      into.row_sum[r] = block.row_sum[r];
      for (Size j = 0; j < args.v_dim; j += width<T, Arch>) simd::store(acc + j, simd::load<Arch>(add + j));
    } else {
      const FoldFactors<T> by =
          fold_sums<T, Arch>(into.row_max[r], into.row_sum[r], block.row_max[r], block.row_sum[r]);
      for (Size j = 0; j < args.v_dim; j += width<T, Arch>) {
        simd::store(acc + j, fold_acc<T, Arch>(simd::load<Arch>(acc + j), simd::load<Arch>(add + j), by));
      }
    }
    into.seen[r] += block.seen[r];
    into.last_seen[r] = block.last_seen[r];
  }
}

/// Whether quotients are made of FMAs: where the division of a vector is slow (16 cycles of 64 bytes). AVX2
/// divides 32 bytes in 5 or 8, beside other work.
template <class T, class Arch>
inline constexpr bool quotients_of_fmas = has_fma && sizeof(T) * width<T, Arch> > 32;

template <class T>
struct Divisor {
  T divisor, reciprocal, rest;  // r = RN(1 / divisor) and (1 - divisor * r) * r, where they are used
};
template <class T, class Arch>
RAPT_INLINE Divisor<T> divisor_of(T divisor) noexcept {
  if constexpr (quotients_of_fmas<T, Arch>) {
    const T reciprocal = T(1) / divisor;
    return {divisor, reciprocal, std::fma(-divisor, reciprocal, T(1)) * reciprocal};
  } else {
    return {divisor, T(0), T(0)};
  }
}

/// Many correctly rounded quotients by one divisor, two cycles a vector: q = RN(a r + RN(a rest)) is within
/// 0.51 ulp of a / d, and by Markstein's theorem RN(q + (a - q d) r) is then a / d to the last bit (Muller et
/// al., Handbook of Floating-Point Arithmetic, 2nd ed., section 4.7), as long as the remainder is exact:
/// dividends whose remainder might underflow or whose quotient might overflow are divided.
template <class T, class Arch>
class Quotients {
 public:
  explicit RAPT_INLINE Quotients(Divisor<T> by) noexcept
      : by_(by), tame_(quotients_of_fmas<T, Arch> && by.divisor >= T(0.5) && by.divisor <= T(0x1p40)) {}

  /// All of a share one look at their range.
  template <std::size_t V>
  RAPT_INLINE void divide(Batch<T, Arch> (&a)[V]) const noexcept {
    if (tame_ && simd::exponents_in_middle(a)) {
      const Batch<T, Arch> minus = simd::broadcast<Arch>(-by_.divisor),
                           reciprocal = simd::broadcast<Arch>(by_.reciprocal),
                           rest = simd::broadcast<Arch>(by_.rest);
#pragma GCC unroll 4
      for (Batch<T, Arch>& x : a) {
        const Batch<T, Arch> q = simd::fma(x, reciprocal, x * rest);
        x = simd::fma(simd::fma(q, minus, x), reciprocal, q);
      }
    } else {
      const Batch<T, Arch> divisor = simd::broadcast<Arch>(by_.divisor);
#pragma GCC unroll 4
      for (Batch<T, Arch>& x : a) x = simd::divide(x, divisor);
    }
  }

 private:
  Divisor<T> by_;
  bool tame_;
};

template <class T, class Arch>
void divide(const T* acc, T row_sum, T* out, Size v_dim) noexcept {
  constexpr Size w = width<T, Arch>;
  const Quotients<T, Arch> by(divisor_of<T, Arch>(row_sum));
  for_vectors<4>(
      v_dim / w, [&]<int V>(Size vector) __attribute__((always_inline)) {
        Batch<T, Arch> x[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) x[v] = simd::load<Arch>(acc + (vector + v) * w);
        by.divide(x);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) simd::store(out + (vector + v) * w, x[v]);
      });
  for (Size j = v_dim / w * w; j < v_dim; ++j) out[j] = acc[j] / row_sum;
}

template <class T, class Arch>
void finish_weights(T* weights, Size keys, T block_max, T row_max, T row_sum) noexcept {
  constexpr Size w = width<T, Arch>;
  const Batch<T, Arch> down = simd::broadcast<Arch>(block_max - row_max);
  const Batch<T, Arch> zero = simd::broadcast<Arch>(T(0));  // -0, the mark of a hidden key, becomes +0
  const Quotients<T, Arch> by(divisor_of<T, Arch>(row_sum));
  for_vectors<4>(
      keys / w, [&]<int V>(Size vector) __attribute__((always_inline)) {
        Batch<T, Arch> x[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
          x[v] = simd::times_pow2(simd::load<Arch>(weights + (vector + v) * w), down);
        by.divide(x);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) simd::store(weights + (vector + v) * w, x[v] + zero);
      });
  const T factor = pow2<T, Arch>(block_max - row_max);
  for (Size j = keys / w * w; j < keys; ++j) weights[j] = weights[j] * factor / row_sum + T(0);
}

}  // namespace rapt::kernels
