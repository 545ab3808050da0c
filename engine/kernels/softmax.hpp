// The softmax of one row over one block (steps 2 to 4 of the numeric contract): scores in, weights against
// the block's own maximum out.
#pragma once

#include "kernels/exp.hpp"
#include "kernels/score.hpp"
#include "kernels/simd_lanes.hpp"

namespace rapt::kernels {

/// A row's block: its largest integer exponent and the sum of its weights.
template <class T>
struct BlockSums {
  T max, sum;
};

/// y of the contract from a plain score. Where y would be -inf, the row's sum becomes NaN and the row is done
/// again with care.
template <class T, class Arch>
struct PlainScore {
  Batch<T, Arch> c;
  RAPT_INLINE Batch<T, Arch> y(const Batch<T, Arch>& s) const noexcept { return s * c; }
  RAPT_INLINE Mask<T, Arch> seen(const Batch<T, Arch>&, const Mask<T, Arch>& within) const noexcept {
    return within;
  }
  static constexpr bool all_seen = true;
};

/// y stands in the buffer already, -inf for hidden keys (see modify.hpp).
template <class T, class Arch>
struct PreparedScore {
  RAPT_INLINE Batch<T, Arch> y(const Batch<T, Arch>& s) const noexcept { return s; }
  RAPT_INLINE Mask<T, Arch> seen(const Batch<T, Arch>& y, const Mask<T, Arch>& within) const noexcept {
    // Not `!=`: xsimd's is false for NaN on AVX and AVX-512, and a NaN is seen.
    return within & !(y == simd::broadcast<Arch>(-std::numeric_limits<T>::infinity()));
  }
  static constexpr bool all_seen = false;
};

/// First pass: n into `exponents`, p over s, the largest n returned. Lanes outside `keys` or hidden get p =
/// 0, n = -inf. The rows of a tile take the same vectors, those of `all`, masked outside `common`: loops of
/// one length predict well.
template <class T, class Arch, class Score>
RAPT_INLINE T exponents_of_row(Score score, KeyRange keys, KeyRange all, KeyRange common, T* s,
                               T* exponents) noexcept {
  constexpr Size w = width<T, Arch>;
  const Batch<T, Arch> least = simd::broadcast<Arch>(-std::numeric_limits<T>::infinity());
  const Batch<T, Arch> zero = simd::broadcast<Arch>(T(0));
  Batch<T, Arch> row_max = least;
  const auto whole = [&](Size j) __attribute__((always_inline)) {
    const Exp2<T, Arch> e(score.y(simd::load<Arch>(s + j)));
    row_max = simd::larger(row_max, e.n);
    simd::store(s + j, e.p);
    simd::store(exponents + j, e.n);
  };
  const auto masked = [&](Size j) __attribute__((always_inline)) {
    const Batch<T, Arch> y = score.y(simd::load<Arch>(s + j));
    const Exp2<T, Arch> e(y);
    const Mask<T, Arch> seen = score.seen(y, simd::lanes_within<T, Arch>(j, keys.lo, keys.hi));
    const Batch<T, Arch> n = xsimd::select(seen, e.n, least);
    row_max = simd::larger(row_max, n);
    simd::store(s + j, xsimd::select(seen, e.p, zero));
    simd::store(exponents + j, n);
  };
  Size j = all.lo / w * w;
  for (; j < common.lo && j < all.hi; j += w) masked(j);
  if constexpr (Score::all_seen) {
#pragma GCC unroll 2
    for (; j + w <= common.hi; j += w) whole(j);
  }
#pragma GCC unroll 1
  for (; j < all.hi; j += w) masked(j);
  return simd::largest_lane(row_max);
}

/// Second pass: w = p * pow2(n - max) over s; the sum in the contract's lanes, folded by halves.
template <class T, class Arch>
RAPT_INLINE T weights_of_row(KeyRange keys, T max, T* s, const T* exponents) noexcept {
  constexpr Size w = width<T, Arch>, lanes = 64 / static_cast<Size>(sizeof(T));
  constexpr std::size_t vectors = static_cast<std::size_t>(lanes / w);
  const Batch<T, Arch> reference = simd::broadcast<Arch>(max);
  Batch<T, Arch> sum[vectors];
#pragma GCC unroll 4
  for (auto& lane : sum) lane = simd::broadcast<Arch>(T(0));
  const auto add = [&](Size j, std::size_t v) __attribute__((always_inline)) {
    const Batch<T, Arch> weight =
        simd::times_pow2(simd::load<Arch>(s + j), simd::load<Arch>(exponents + j) - reference);
    sum[v] = sum[v] + weight;
    simd::store(s + j, weight);
  };
  // Vectors of the first pass only, each into the lanes of its positions: adding another would add garbage.
  Size j = keys.lo / w * w;
  if constexpr (vectors > 1) {
    for (; j < keys.hi && j % lanes != 0; j += w) {
#pragma GCC unroll 4
      for (std::size_t v = 1; v < vectors; ++v)
        if (j % lanes == static_cast<Size>(v) * w) add(j, v);
    }
  }
#pragma GCC unroll 1
  for (; j + lanes <= keys.hi; j += lanes) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) add(j + static_cast<Size>(v) * w, v);
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v, j += w) {
    if (j >= keys.hi) break;
    add(j, v);
  }
  return simd::sum_by_halves(sum);
}

}  // namespace rapt::kernels
