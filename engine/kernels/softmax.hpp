// The softmax of some rows over one block (steps 2 to 4 of the numeric contract): scores in, weights against
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

/// First pass, N rows at once, so that one's latencies are another's work: n into `exponents`, p over s, the
/// largest n of each into max. Row r's lanes outside keys[r] or hidden get p = 0, n = -inf. Rows take the
/// same vectors, those of `all`, masked outside `common`: loops of one length predict well.
template <class T, class Arch, int N, class Score>
RAPT_INLINE void exponents_of_rows(Score score, const KeyRange* keys, KeyRange all, KeyRange common, T* s,
                                   T* exponents, T* max) noexcept {
  constexpr Size w = width<T, Arch>;
  const Batch<T, Arch> least = simd::broadcast<Arch>(-std::numeric_limits<T>::infinity());
  const Batch<T, Arch> zero = simd::broadcast<Arch>(T(0));
  Batch<T, Arch> row_max[N];
#pragma GCC unroll 4
  for (auto& lanes : row_max) lanes = least;
  const auto whole = [&](Size j) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int r = 0; r < N; ++r) {
      const Size at = r * score_stride<T> + j;
      const Exp2<T, Arch> e(score.y(simd::load<Arch>(s + at)));
      row_max[r] = simd::larger(row_max[r], e.n);
      simd::store(s + at, e.p);
      simd::store(exponents + at, e.n);
    }
  };
  const auto masked = [&](Size j, auto lanes) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int r = 0; r < N; ++r) {
      const Size at = r * score_stride<T> + j;
      const Batch<T, Arch> y = score.y(simd::load<Arch>(s + at));
      const Exp2<T, Arch> e(y);
      const Mask<T, Arch> seen = score.seen(y, lanes(j, keys[r]));
      const Batch<T, Arch> n = xsimd::select(seen, e.n, least);
      row_max[r] = simd::larger(row_max[r], n);
      simd::store(s + at, xsimd::select(seen, e.p, zero));
      simd::store(exponents + at, n);
    }
  };
  Size j = all.lo / w * w;
  for (; j < common.lo && j < all.hi; j += w) {
    masked(
        j, [](Size base, KeyRange row)
               __attribute__((always_inline)) { return simd::lanes_within<T, Arch>(base, row.lo, row.hi); });
  }
  if constexpr (Score::all_seen) {
#pragma GCC unroll 1
    for (; j + w <= common.hi; j += w) whole(j);
  }
#pragma GCC unroll 1
  for (; j < all.hi; j += w) {
    masked(
        j, [](Size base, KeyRange row)
               __attribute__((always_inline)) { return simd::lanes_below<T, Arch>(row.hi - base); });
  }
  simd::largest_lanes(row_max, max);
}

/// Second pass: w = p * pow2(n - max) over s; the sums in the contract's lanes, folded by halves.
template <class T, class Arch, int N>
RAPT_INLINE void weights_of_rows(KeyRange keys, const T* max, T* s, const T* exponents, T* sums) noexcept {
  constexpr Size w = width<T, Arch>, lanes = 64 / static_cast<Size>(sizeof(T));
  constexpr std::size_t vectors = static_cast<std::size_t>(lanes / w);
  Batch<T, Arch> sum[N][vectors];
  simd::Pow2Below<T, Arch> below[N];
#pragma GCC unroll 4
  for (int r = 0; r < N; ++r) below[r].set(max[r]);
#pragma GCC unroll 4
  for (auto& row : sum)
#pragma GCC unroll 4
    for (auto& lane : row) lane = simd::broadcast<Arch>(T(0));
  const auto add = [&](Size j, std::size_t v) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int r = 0; r < N; ++r) {
      const Size at = r * score_stride<T> + j;
      const Batch<T, Arch> weight =
          below[r].times(simd::load<Arch>(s + at), simd::load<Arch>(exponents + at));
      sum[r][v] = sum[r][v] + weight;
      simd::store(s + at, weight);
    }
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
  simd::sums_by_halves(sum, sums);
}

}  // namespace rapt::kernels
