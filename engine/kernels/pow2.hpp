// Exponents: multiplying by integer powers of two that are exactly 0 below the least normal exponent (step 4
// of the numeric contract), and a look at those of a vector.
#pragma once

#include <cmath>

#include "kernels/simd.hpp"

namespace rapt::kernels::simd {

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

/// p * 2^(n - max) of many n and one max >= n, the power exactly 0 below the least normal exponent. NaN in p
/// or max stays NaN.
template <class T, class Arch>
class Pow2Below {
 public:
  RAPT_INLINE void set(T max) noexcept {
    max_ = Batch<T, Arch>(max);
#if defined(__AVX512F__)
    // The least n with n - max >= the least exponent; max + exponent may have been rounded down, to below it.
    constexpr T least_exponent = std::is_same_v<T, float> ? T(-126) : T(-1022);
    T least = max + least_exponent;
    if (least - max < least_exponent) least = std::nextafter(least, max);
    least_ = Batch<T, Arch>(least);
#endif
  }
  RAPT_INLINE Batch<T, Arch> times(const Batch<T, Arch>& p, const Batch<T, Arch>& n) const noexcept {
#if defined(__AVX512F__)
    // One look at n decides what times_pow2 multiplies by 0 for: far below, scalef itself gives 0.
    if constexpr (std::is_same_v<T, float>) {
      const __mmask16 normal = _mm512_cmp_ps_mask(n, least_, _CMP_NLT_UQ);
      return _mm512_scalef_ps(p, _mm512_mask_sub_ps(_mm512_set1_ps(-1000.0F), normal, n, max_));
    } else {
      const __mmask8 normal = _mm512_cmp_pd_mask(n, least_, _CMP_NLT_UQ);
      return _mm512_scalef_pd(p, _mm512_mask_sub_pd(_mm512_set1_pd(-5000.0), normal, n, max_));
    }
#else
    return times_pow2<T, Arch>(p, n - max_);
#endif
  }

 private:
  Batch<T, Arch> max_;
#if defined(__AVX512F__)
  Batch<T, Arch> least_;
#endif
};

/// Whether each |x| has an exponent of the middle half: from 2^-63 below 2^65 in float, 2^-511 and 2^513 in
/// double. Adding a quarter of all exponents raises the highest exponent bit of those and of no others:
/// larger ones carry out of it. (AVX-512; elsewhere nothing is gained by knowing, and the answer is no.)
template <class T, class Arch, std::size_t V>
RAPT_INLINE bool exponents_in_middle([[maybe_unused]] const Batch<T, Arch> (&x)[V]) noexcept {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    const __m512i quarter = _mm512_set1_epi32(1 << 29), highest = _mm512_set1_epi32(1 << 30);
    __m512i all = highest;
#pragma GCC unroll 16
    for (const Batch<T, Arch>& v : x)
      all = _mm512_and_si512(all, _mm512_add_epi32(_mm512_castps_si512(v), quarter));
    return _mm512_testn_epi32_mask(all, highest) == 0;
  } else {
    const __m512i quarter = _mm512_set1_epi64(1LL << 61), highest = _mm512_set1_epi64(1LL << 62);
    __m512i all = highest;
#pragma GCC unroll 16
    for (const Batch<T, Arch>& v : x)
      all = _mm512_and_si512(all, _mm512_add_epi64(_mm512_castpd_si512(v), quarter));
    return _mm512_testn_epi64_mask(all, highest) == 0;
  }
#else
  return false;
#endif
}

}  // namespace rapt::kernels::simd
