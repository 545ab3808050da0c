// Every intrinsic and every quirk of xsimd: the vector operations that kernels are written in, one set for
// all ISAs. Kernels see Batch<T, Arch> and the functions below; nothing else in this folder names an
// instruction set. Everything is a template on Arch or always_inline, so that an ISA object lends no code to
// the rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <xsimd/xsimd.hpp>

#include "widen.hpp"

#define RAPT_INLINE inline __attribute__((always_inline))

namespace rapt::kernels {

template <class T, class Arch>
using Batch = xsimd::batch<T, Arch>;
template <class T, class Arch>
using Mask = xsimd::batch_bool<T, Arch>;

template <class T, class Arch>
inline constexpr std::ptrdiff_t width = static_cast<std::ptrdiff_t>(Batch<T, Arch>::size);

#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool has_fma = true;
#else
inline constexpr bool has_fma = false;
#endif

/// The micro-kernel tile is MR rows by NV vectors (BLIS's MR and NR), chosen to fill the registers with MR *
/// NV accumulators, NV vectors of the panel and one broadcast: AVX2 6x2 uses 15 of 16 (4x3 and 8x1 are load
/// bound), AVX-512 and NEON have 32, and the baseline needs one more for the product before its addition.
inline constexpr int NV = 2;
#if defined(__AVX512F__)
inline constexpr int MR = 12;
#elif defined(__FMA__)
inline constexpr int MR = 6;
#elif defined(__aarch64__)
inline constexpr int MR = 8;
#else
inline constexpr int MR = 4;
#endif
template <class T, class Arch>
inline constexpr std::ptrdiff_t NR = NV* width<T, Arch>;

namespace simd {

template <class Arch, class T>
RAPT_INLINE Batch<T, Arch> load(const T* from) noexcept {
  return Batch<T, Arch>::load_unaligned(from);
}
template <class T, class Arch>
RAPT_INLINE void store(T* to, const Batch<T, Arch>& value) noexcept {
  value.store_unaligned(to);
}
template <class Arch, class T>
RAPT_INLINE Batch<T, Arch> broadcast(T value) noexcept {
  return Batch<T, Arch>(value);
}

/// A vector of T from storage: T itself, or bf16 and f16 widened exactly.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> load_widened(const T* from) noexcept {
  return load<Arch>(from);
}
template <class T, class Arch>
RAPT_INLINE Batch<float, Arch> load_widened(const bf16* from) noexcept {
#if defined(__AVX512F__)
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
#elif defined(__AVX2__)
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
#elif defined(__x86_64__)
  const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), bits));
#else
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&from->bits), 16));
#endif
}
template <class T, class Arch>
RAPT_INLINE Batch<float, Arch> load_widened(const f16* from) noexcept {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#elif defined(__x86_64__)
  const float wide[]{widen(from[0]), widen(from[1]), widen(from[2]), widen(from[3])};
  return _mm_loadu_ps(wide);
#else
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&from->bits)));
#endif
}

/// Keeps a loaded vector in a register: GCC 12 otherwise folds the load into every use, which makes small
/// tiles load bound.
template <class T, class Arch>
RAPT_INLINE void pin(Batch<T, Arch>& value) noexcept {
#if defined(__AVX512F__)
  asm("" : "+v"(value.data));
#elif defined(__x86_64__)
  asm("" : "+x"(value.data));
#else
  asm("" : "+w"(value.data));
#endif
}

/// Makes the compiler believe that the value is used.
template <class T, class Arch>
RAPT_INLINE void keep(const Batch<T, Arch>& value) noexcept {
#if defined(__AVX512F__)
  asm volatile("" : : "v"(value.data));
#elif defined(__x86_64__)
  asm volatile("" : : "x"(value.data));
#else
  asm volatile("" : : "w"(value.data));
#endif
}

/// a * b + c rounded once where the ISA has FMA; multiply, then add, on the baseline. (xsimd 8.1's own fma is
/// not one on AVX-512.)
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> fma(const Batch<T, Arch>& a, const Batch<T, Arch>& b,
                               const Batch<T, Arch>& c) noexcept {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    return _mm512_fmadd_ps(a, b, c);
  else
    return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  if constexpr (std::is_same_v<T, float>)
    return _mm256_fmadd_ps(a, b, c);
  else
    return _mm256_fmadd_pd(a, b, c);
#elif defined(__aarch64__)
  if constexpr (std::is_same_v<T, float>)
    return vfmaq_f32(c, a, b);
  else
    return vfmaq_f64(c, a, b);
#else
  return a * b + c;
#endif
}

/// The larger of the two; x where either is NaN, so that a NaN in x survives a clamp.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> clamp_below(const Batch<T, Arch>& limit, const Batch<T, Arch>& x) noexcept {
  return xsimd::max(limit, x);  // x86: the second operand where unordered; NEON: NaN where either is
}

/// The smaller of the two; x where either is NaN.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> clamp_above(const Batch<T, Arch>& limit, const Batch<T, Arch>& x) noexcept {
  return xsimd::min(limit, x);
}

/// The larger of the two; which one where either is NaN is not said.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> larger(const Batch<T, Arch>& a, const Batch<T, Arch>& b) noexcept {
  return xsimd::max(a, b);
}

/// The nearest integer, ties to even, at every magnitude; NaN and infinities stay.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> round_even(const Batch<T, Arch>& x) noexcept {
#if defined(__AVX512F__)
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  if constexpr (std::is_same_v<T, float>)
    return _mm512_roundscale_ps(x, nearest);
  else
    return _mm512_roundscale_pd(x, nearest);
#elif defined(__AVX2__)
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  if constexpr (std::is_same_v<T, float>)
    return _mm256_round_ps(x, nearest);
  else
    return _mm256_round_pd(x, nearest);
#elif defined(__aarch64__)
  if constexpr (std::is_same_v<T, float>)
    return vrndnq_f32(x);
  else
    return vrndnq_f64(x);
#else
  // SSE2 has no rounding instruction. |x| + 2^23 - 2^23 rounds |x| < 2^23; everything larger is an integer
  // already.
  constexpr T magic = std::is_same_v<T, float> ? T(8388608) : T(4503599627370496);
  const Batch<T, Arch> magnitude = xsimd::abs(x);
  const Batch<T, Arch> sign = x & Batch<T, Arch>(T(-0.0));
  const Batch<T, Arch> rounded = ((magnitude + Batch<T, Arch>(magic)) - Batch<T, Arch>(magic)) | sign;
  return xsimd::select(magnitude < Batch<T, Arch>(magic), rounded, x);
#endif
}

/// p * 2^e for an integer e <= 64, where 2^e is exactly 0 below the least normal exponent. NaN in p stays
/// NaN.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> times_pow2(const Batch<T, Arch>& p, const Batch<T, Arch>& e) noexcept {
#if defined(__AVX512F__)
  // "Not less than" holds for a NaN e, and p * 0 keeps a NaN p: both must come through.
  if constexpr (std::is_same_v<T, float>) {
    const __mmask16 normal = _mm512_cmp_ps_mask(e, _mm512_set1_ps(-126.0F), _CMP_NLT_UQ);
    return _mm512_mask_scalef_ps(_mm512_mul_ps(p, _mm512_setzero_ps()), normal, p, e);
  } else {
    const __mmask8 normal = _mm512_cmp_pd_mask(e, _mm512_set1_pd(-1022.0), _CMP_NLT_UQ);
    return _mm512_mask_scalef_pd(_mm512_mul_pd(p, _mm512_setzero_pd()), normal, p, e);
  }
#else
  // The biased exponent lands in the low mantissa bits of 2^23 + (e + 127); shifted up it is 2^e, and 0 for
  // the clamped e.
  constexpr bool single = std::is_same_v<T, float>;
  constexpr T bias = single ? T(127) : T(1023);
  constexpr T magic = (single ? T(8388608) : T(4503599627370496)) + bias;
  const Batch<T, Arch> shifted = clamp_below(Batch<T, Arch>(-bias), e) + Batch<T, Arch>(magic);
#if defined(__AVX2__)
  if constexpr (single)
    return p * Batch<T, Arch>(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(shifted), 23)));
  else
    return p * Batch<T, Arch>(_mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(shifted), 52)));
#elif defined(__x86_64__)
  if constexpr (single)
    return p * Batch<T, Arch>(_mm_castsi128_ps(_mm_slli_epi32(_mm_castps_si128(shifted), 23)));
  else
    return p * Batch<T, Arch>(_mm_castsi128_pd(_mm_slli_epi64(_mm_castpd_si128(shifted), 52)));
#else
  if constexpr (single)
    return p * Batch<T, Arch>(vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(shifted), 23)));
  else
    return p * Batch<T, Arch>(vreinterpretq_f64_u64(vshlq_n_u64(vreinterpretq_u64_f64(shifted), 52)));
#endif
#endif
}

/// The lanes l with lo <= base + l < hi.
template <class T, class Arch>
RAPT_INLINE Mask<T, Arch> lanes_within(std::ptrdiff_t base, std::ptrdiff_t lo, std::ptrdiff_t hi) noexcept {
  alignas(64) static constexpr T iota[]{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Batch<T, Arch> lane = load<Arch>(iota);
  return (lane >= Batch<T, Arch>(static_cast<T>(lo - base))) &
         (lane < Batch<T, Arch>(static_cast<T>(hi - base)));
}

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

struct Add {
#if defined(__x86_64__)
  RAPT_INLINE __m128 operator()(__m128 a, __m128 b) const noexcept { return _mm_add_ps(a, b); }
  RAPT_INLINE __m128d operator()(__m128d a, __m128d b) const noexcept { return _mm_add_pd(a, b); }
#if defined(__AVX2__)
  RAPT_INLINE __m256 operator()(__m256 a, __m256 b) const noexcept { return _mm256_add_ps(a, b); }
  RAPT_INLINE __m256d operator()(__m256d a, __m256d b) const noexcept { return _mm256_add_pd(a, b); }
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
#else
  RAPT_INLINE float32x2_t operator()(float32x2_t a, float32x2_t b) const noexcept { return vmax_f32(a, b); }
  RAPT_INLINE float64x2_t operator()(float64x2_t a, float64x2_t b) const noexcept { return vmaxq_f64(a, b); }
#endif
};
}  // namespace detail

/// The lanes of `sums` seen as one array, folded by halves: lane[i] += lane[i + n/2], then n/4, ..., 1. The
/// order is the contract's.
template <class T, class Arch, std::size_t N>
RAPT_INLINE T sum_by_halves(Batch<T, Arch> (&sums)[N]) noexcept {
#pragma GCC unroll 8
  for (std::size_t half = N / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (std::size_t i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
  return detail::fold(sums[0].data, detail::Add{});
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

template <class T, class Arch>
RAPT_INLINE T largest_lane(const Batch<T, Arch>& x) noexcept {
  return detail::fold(x.data, detail::Max{});
}

}  // namespace simd
}  // namespace rapt::kernels
