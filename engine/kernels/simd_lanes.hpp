// Vector operations that cross lanes: transposes for packing, and folds to one number. The other half of
// simd.hpp.
#pragma once

#include "kernels/simd.hpp"

namespace rapt::kernels::simd {

namespace detail {
// Interleaving within each 16-byte group.
#if defined(__x86_64__)
RAPT_INLINE __m128 unpack_lo(__m128 a, __m128 b) noexcept { return _mm_unpacklo_ps(a, b); }
RAPT_INLINE __m128 unpack_hi(__m128 a, __m128 b) noexcept { return _mm_unpackhi_ps(a, b); }
RAPT_INLINE __m128 low_pairs(__m128 a, __m128 b) noexcept { return _mm_shuffle_ps(a, b, 0x44); }
RAPT_INLINE __m128 high_pairs(__m128 a, __m128 b) noexcept { return _mm_shuffle_ps(a, b, 0xEE); }
RAPT_INLINE __m128d unpack_lo(__m128d a, __m128d b) noexcept { return _mm_unpacklo_pd(a, b); }
RAPT_INLINE __m128d unpack_hi(__m128d a, __m128d b) noexcept { return _mm_unpackhi_pd(a, b); }
#if defined(__AVX2__)
RAPT_INLINE __m256 unpack_lo(__m256 a, __m256 b) noexcept { return _mm256_unpacklo_ps(a, b); }
RAPT_INLINE __m256 unpack_hi(__m256 a, __m256 b) noexcept { return _mm256_unpackhi_ps(a, b); }
RAPT_INLINE __m256 low_pairs(__m256 a, __m256 b) noexcept { return _mm256_shuffle_ps(a, b, 0x44); }
RAPT_INLINE __m256 high_pairs(__m256 a, __m256 b) noexcept { return _mm256_shuffle_ps(a, b, 0xEE); }
RAPT_INLINE __m256d unpack_lo(__m256d a, __m256d b) noexcept { return _mm256_unpacklo_pd(a, b); }
RAPT_INLINE __m256d unpack_hi(__m256d a, __m256d b) noexcept { return _mm256_unpackhi_pd(a, b); }
#endif
#if defined(__AVX512F__)
RAPT_INLINE __m512 unpack_lo(__m512 a, __m512 b) noexcept { return _mm512_unpacklo_ps(a, b); }
RAPT_INLINE __m512 unpack_hi(__m512 a, __m512 b) noexcept { return _mm512_unpackhi_ps(a, b); }
RAPT_INLINE __m512 low_pairs(__m512 a, __m512 b) noexcept { return _mm512_shuffle_ps(a, b, 0x44); }
RAPT_INLINE __m512 high_pairs(__m512 a, __m512 b) noexcept { return _mm512_shuffle_ps(a, b, 0xEE); }
RAPT_INLINE __m512d unpack_lo(__m512d a, __m512d b) noexcept { return _mm512_unpacklo_pd(a, b); }
RAPT_INLINE __m512d unpack_hi(__m512d a, __m512d b) noexcept { return _mm512_unpackhi_pd(a, b); }
#endif
#else
RAPT_INLINE float32x4_t unpack_lo(float32x4_t a, float32x4_t b) noexcept { return vzip1q_f32(a, b); }
RAPT_INLINE float32x4_t unpack_hi(float32x4_t a, float32x4_t b) noexcept { return vzip2q_f32(a, b); }
RAPT_INLINE float32x4_t low_pairs(float32x4_t a, float32x4_t b) noexcept {
  return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
}
RAPT_INLINE float32x4_t high_pairs(float32x4_t a, float32x4_t b) noexcept {
  return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
}
RAPT_INLINE float64x2_t unpack_lo(float64x2_t a, float64x2_t b) noexcept { return vzip1q_f64(a, b); }
RAPT_INLINE float64x2_t unpack_hi(float64x2_t a, float64x2_t b) noexcept { return vzip2q_f64(a, b); }
#endif
}  // namespace detail

/// Transposes `width` rows of 16-byte pieces: out[u][l] = key[l][s + u] for u < 16 / sizeof(T).
template <class T, class Arch>
RAPT_INLINE void transpose_pieces(const T* const* key, std::ptrdiff_t s, Batch<T, Arch>* out) noexcept {
  constexpr std::ptrdiff_t piece = 16 / static_cast<std::ptrdiff_t>(sizeof(T));
  // Lane group g of row[i] holds the piece of key g * piece + i, so that a transpose within 16-byte groups
  // finishes the job.
  Batch<T, Arch> row[piece];
#pragma GCC unroll 4
  for (std::ptrdiff_t i = 0; i < piece; ++i) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>) {
      const __m512 first = _mm512_castps128_ps512(_mm_loadu_ps(key[i] + s));
      const __m512 second = _mm512_insertf32x4(first, _mm_loadu_ps(key[piece + i] + s), 1);
      const __m512 third = _mm512_insertf32x4(second, _mm_loadu_ps(key[2 * piece + i] + s), 2);
      row[i] = _mm512_insertf32x4(third, _mm_loadu_ps(key[3 * piece + i] + s), 3);
    } else {
      const __m512d first = _mm512_castpd128_pd512(_mm_loadu_pd(key[i] + s));
      const __m512d second = _mm512_insertf64x2(first, _mm_loadu_pd(key[piece + i] + s), 1);
      const __m512d third = _mm512_insertf64x2(second, _mm_loadu_pd(key[2 * piece + i] + s), 2);
      row[i] = _mm512_insertf64x2(third, _mm_loadu_pd(key[3 * piece + i] + s), 3);
    }
#elif defined(__AVX2__)
    if constexpr (std::is_same_v<T, float>) {
      row[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(key[i] + s)),
                                    _mm_loadu_ps(key[piece + i] + s), 1);
    } else {
      row[i] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(key[i] + s)),
                                    _mm_loadu_pd(key[piece + i] + s), 1);
    }
#else
    row[i] = load<Arch>(key[i] + s);
#endif
  }
  if constexpr (std::is_same_v<T, double>) {
    out[0] = detail::unpack_lo(row[0].data, row[1].data);
    out[1] = detail::unpack_hi(row[0].data, row[1].data);
  } else {
    const auto lo01 = detail::unpack_lo(row[0].data, row[1].data),
               hi01 = detail::unpack_hi(row[0].data, row[1].data);
    const auto lo23 = detail::unpack_lo(row[2].data, row[3].data),
               hi23 = detail::unpack_hi(row[2].data, row[3].data);
    out[0] = detail::low_pairs(lo01, lo23);
    out[1] = detail::high_pairs(lo01, lo23);
    out[2] = detail::low_pairs(hi01, hi23);
    out[3] = detail::high_pairs(hi01, hi23);
  }
}

namespace detail {
// Halving inside one register: lane i and lane i + half, down to one lane.
#if defined(__x86_64__)
template <class Op>
RAPT_INLINE float fold(__m128 x, Op op) noexcept {
  const __m128 pair = op(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(op(pair, _mm_shuffle_ps(pair, pair, 1)));
}
template <class Op>
RAPT_INLINE double fold(__m128d x, Op op) noexcept {
  return _mm_cvtsd_f64(op(x, _mm_unpackhi_pd(x, x)));
}
#if defined(__AVX2__)
template <class Op>
RAPT_INLINE float fold(__m256 x, Op op) noexcept {
  return fold(op(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)), op);
}
template <class Op>
RAPT_INLINE double fold(__m256d x, Op op) noexcept {
  return fold(op(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1)), op);
}
#endif
#if defined(__AVX512F__)
template <class Op>
RAPT_INLINE float fold(__m512 x, Op op) noexcept {
  return fold(op(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)), op);
}
template <class Op>
RAPT_INLINE double fold(__m512d x, Op op) noexcept {
  return fold(op(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1)), op);
}
#endif
#else
template <class Op>
RAPT_INLINE float fold(float32x4_t x, Op op) noexcept {
  const float32x2_t pair = op(vget_low_f32(x), vget_high_f32(x));
  return vget_lane_f32(op(pair, vdup_lane_f32(pair, 1)), 0);
}
template <class Op>
RAPT_INLINE double fold(float64x2_t x, Op op) noexcept {
  return vgetq_lane_f64(op(x, vdupq_laneq_f64(x, 1)), 0);
}
#endif

// Two registers at once, as one of both halves: about two thirds of the instructions.
template <class T, class Register, class Op>
RAPT_INLINE void fold_two(Register a, Register b, Op op, T* out) noexcept {
  out[0] = fold(a, op);
  out[1] = fold(b, op);
}
#if defined(__AVX2__)
template <class Op>
RAPT_INLINE void fold_two(__m256 a, __m256 b, Op op, float* out) noexcept {
  const __m256 fours = op(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  const __m256 pairs = op(fours, _mm256_permute_ps(fours, 0x4E));
  const __m256 ones = op(pairs, _mm256_permute_ps(pairs, 0xB1));
  out[0] = _mm256_cvtss_f32(ones);
  out[1] = _mm_cvtss_f32(_mm256_extractf128_ps(ones, 1));
}
template <class Op>
RAPT_INLINE void fold_two(__m256d a, __m256d b, Op op, double* out) noexcept {
  const __m256d pairs = op(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
  const __m256d ones = op(pairs, _mm256_permute_pd(pairs, 0x5));
  out[0] = _mm256_cvtsd_f64(ones);
  out[1] = _mm_cvtsd_f64(_mm256_extractf128_pd(ones, 1));
}
#endif
#if defined(__AVX512F__)
template <class Op>
RAPT_INLINE void fold_two(__m512 a, __m512 b, Op op, float* out) noexcept {
  const __m512 eights = op(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
  const __m512 fours = op(eights, _mm512_shuffle_f32x4(eights, eights, 0xB1));
  const __m512 pairs = op(fours, _mm512_permute_ps(fours, 0x4E));
  const __m512 ones = op(pairs, _mm512_permute_ps(pairs, 0xB1));
  out[0] = _mm512_cvtss_f32(ones);
  out[1] = _mm_cvtss_f32(_mm512_extractf32x4_ps(ones, 2));
}
template <class Op>
RAPT_INLINE void fold_two(__m512d a, __m512d b, Op op, double* out) noexcept {
  const __m512d fours = op(_mm512_shuffle_f64x2(a, b, 0x44), _mm512_shuffle_f64x2(a, b, 0xEE));
  const __m512d pairs = op(fours, _mm512_shuffle_f64x2(fours, fours, 0xB1));
  const __m512d ones = op(pairs, _mm512_permute_pd(pairs, 0x55));
  out[0] = _mm512_cvtsd_f64(ones);
  out[1] = _mm_cvtsd_f64(_mm512_extractf64x2_pd(ones, 2));
}
#endif

struct Add {
#if defined(__x86_64__)
  RAPT_INLINE __m128 operator()(__m128 a, __m128 b) const noexcept { return _mm_add_ps(a, b); }
  RAPT_INLINE __m128d operator()(__m128d a, __m128d b) const noexcept { return _mm_add_pd(a, b); }
#if defined(__AVX2__)
  RAPT_INLINE __m256 operator()(__m256 a, __m256 b) const noexcept { return _mm256_add_ps(a, b); }
  RAPT_INLINE __m256d operator()(__m256d a, __m256d b) const noexcept { return _mm256_add_pd(a, b); }
#endif
#if defined(__AVX512F__)
  RAPT_INLINE __m512 operator()(__m512 a, __m512 b) const noexcept { return _mm512_add_ps(a, b); }
  RAPT_INLINE __m512d operator()(__m512d a, __m512d b) const noexcept { return _mm512_add_pd(a, b); }
#endif
#else
  RAPT_INLINE float32x2_t operator()(float32x2_t a, float32x2_t b) const noexcept { return vadd_f32(a, b); }
  RAPT_INLINE float64x2_t operator()(float64x2_t a, float64x2_t b) const noexcept { return vaddq_f64(a, b); }
#endif
};
struct Max {
#if defined(__x86_64__)
  RAPT_INLINE __m128 operator()(__m128 a, __m128 b) const noexcept { return _mm_max_ps(a, b); }
  RAPT_INLINE __m128d operator()(__m128d a, __m128d b) const noexcept { return _mm_max_pd(a, b); }
#if defined(__AVX2__)
  RAPT_INLINE __m256 operator()(__m256 a, __m256 b) const noexcept { return _mm256_max_ps(a, b); }
  RAPT_INLINE __m256d operator()(__m256d a, __m256d b) const noexcept { return _mm256_max_pd(a, b); }
#endif
#if defined(__AVX512F__)
  RAPT_INLINE __m512 operator()(__m512 a, __m512 b) const noexcept { return _mm512_max_ps(a, b); }
  RAPT_INLINE __m512d operator()(__m512d a, __m512d b) const noexcept { return _mm512_max_pd(a, b); }
#endif
#else
  RAPT_INLINE float32x2_t operator()(float32x2_t a, float32x2_t b) const noexcept { return vmax_f32(a, b); }
  RAPT_INLINE float64x2_t operator()(float64x2_t a, float64x2_t b) const noexcept { return vmaxq_f64(a, b); }
#endif
};
}  // namespace detail

/// The lanes of each of one or two rows of `sums` seen as one array, folded by halves: lane[i] += lane[i +
/// n/2], then n/4, and so on. The order is the contract's.
template <class T, class Arch, int R, std::size_t N>
RAPT_INLINE void sums_by_halves(Batch<T, Arch> (&sums)[R][N], T* out) noexcept {
  static_assert(R == 1 || R == 2);
#pragma GCC unroll 4
  for (auto& row : sums)
#pragma GCC unroll 8
    for (std::size_t half = N / 2; half > 0; half /= 2)
#pragma GCC unroll 8
      for (std::size_t i = 0; i < half; ++i) row[i] = row[i] + row[i + half];
  if constexpr (R == 2)
    detail::fold_two(sums[0][0].data, sums[1][0].data, detail::Add{}, out);
  else
    out[0] = detail::fold(sums[0][0].data, detail::Add{});
}

template <class T, class Arch>
RAPT_INLINE T first_lane(const Batch<T, Arch>& x) noexcept {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    return _mm512_cvtss_f32(x);
  else
    return _mm512_cvtsd_f64(x);
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<T, float>)
    return _mm256_cvtss_f32(x);
  else
    return _mm256_cvtsd_f64(x);
#elif defined(__x86_64__)
  if constexpr (std::is_same_v<T, float>)
    return _mm_cvtss_f32(x);
  else
    return _mm_cvtsd_f64(x);
#else
  if constexpr (std::is_same_v<T, float>)
    return vgetq_lane_f32(x, 0);
  else
    return vgetq_lane_f64(x, 0);
#endif
}

/// The largest lane of each of one or two vectors.
template <class T, class Arch, int R>
RAPT_INLINE void largest_lanes(const Batch<T, Arch> (&x)[R], T* out) noexcept {
  static_assert(R == 1 || R == 2);
  if constexpr (R == 2)
    detail::fold_two(x[0].data, x[1].data, detail::Max{}, out);
  else
    out[0] = detail::fold(x[0].data, detail::Max{});
}

}  // namespace rapt::kernels::simd
