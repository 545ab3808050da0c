// The vector operations that kernels are written in, one set for all ISAs, with the quirks of xsimd. Kernels
// see Batch<T, Arch> and the functions below; beside this file only simd_lanes.hpp (what crosses lanes) and
// pow2.hpp name an instruction set. Everything is a template on Arch or always_inline, so that an ISA object
// lends no code to the rest of the program.
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

/// The micro-kernel tile is MR rows by NV vectors (BLIS's MR and NR), or by 2 NV where there are 32
/// registers: its accumulators, the vectors of the panels and one broadcast fill them. Of 16 registers 6x2
/// uses 15 (4x3 and 8x1 are load bound), of 32 6x4 uses 29 (12x2 takes 38 instructions a step, this 34);
/// without FMA a product stands in one more before its addition.
inline constexpr int NV = 2;
inline constexpr int MR = has_fma ? 6 : 4;
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int registers = 32;
#else
inline constexpr int registers = 16;
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
/// Stores past the caches, where the ISA can; `to` is aligned to the vector.
template <class T, class Arch>
RAPT_INLINE void stream(T* to, const Batch<T, Arch>& value) noexcept {
  [[maybe_unused]] constexpr bool single = std::is_same_v<T, float>;
#if defined(__AVX512F__)
  if constexpr (single)
    _mm512_stream_ps(to, value);
  else
    _mm512_stream_pd(to, value);
#elif defined(__AVX2__)
  if constexpr (single)
    _mm256_stream_ps(to, value);
  else
    _mm256_stream_pd(to, value);
#elif defined(__x86_64__)
  if constexpr (single)
    _mm_stream_ps(to, value);
  else
    _mm_stream_pd(to, value);
#else
  value.store_unaligned(to);
#endif
}
/// What was streamed is seen by whoever sees a store behind this.
RAPT_INLINE void end_stream() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

template <class Arch, class T>
RAPT_INLINE Batch<T, Arch> broadcast(T value) noexcept {
  return Batch<T, Arch>(value);
}

/// Vector v of one step of a panel, from storage: T itself, or bf16 and f16 widened exactly. The two vectors
/// of bf16 are interleaved (panel_column), so that each takes one operation.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> load_widened(const T* step, int v) noexcept {
  return load<Arch>(step + v * width<T, Arch>);
}
template <class T, class Arch>
RAPT_INLINE Batch<float, Arch> load_widened(const bf16* step, int v) noexcept {
#if defined(__AVX512F__)
  const __m512i pairs = _mm512_loadu_si512(step);
  return _mm512_castsi512_ps(v == 0 ? _mm512_slli_epi32(pairs, 16)
                                    : _mm512_and_si512(pairs, _mm512_set1_epi32(-0x10000)));
#elif defined(__AVX2__)
  const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(step));
  return _mm256_castsi256_ps(v == 0 ? _mm256_slli_epi32(pairs, 16)
                                    : _mm256_and_si256(pairs, _mm256_set1_epi32(-0x10000)));
#elif defined(__x86_64__)
  const __m128i pairs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(step));
  return _mm_castsi128_ps(v == 0 ? _mm_slli_epi32(pairs, 16)
                                 : _mm_and_si128(pairs, _mm_set1_epi32(-0x10000)));
#else
  const uint32x4_t pairs = vreinterpretq_u32_u16(vld1q_u16(&step->bits));
  return vreinterpretq_f32_u32(v == 0 ? vshlq_n_u32(pairs, 16) : vandq_u32(pairs, vdupq_n_u32(0xFFFF0000U)));
#endif
}
template <class T, class Arch>
RAPT_INLINE Batch<float, Arch> load_widened(const f16* step, int v) noexcept {
  const f16* const from = step + v * width<float, Arch>;
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
/// tiles load bound. In the order of the code, with what ask_here() asks for.
template <class T, class Arch>
RAPT_INLINE void pin(Batch<T, Arch>& value) noexcept {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(value.data));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(value.data));
#else
  asm volatile("" : "+w"(value.data));
#endif
}

/// Asks for the cache line at an address, into L1 or L2, between the pins before and behind: a
/// __builtin_prefetch is moved beside the others of its loop.
template <int level>
RAPT_INLINE void ask_here(const char* at) noexcept {
#if defined(__x86_64__)
  if constexpr (level == 1)
    asm volatile("prefetcht0 %0" : : "m"(*at));
  else
    asm volatile("prefetcht1 %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 0, level == 1 ? 3 : 2);
#endif
}

/// The same address, of which the compiler knows nothing: it loads from there where the code says so, and not
/// before.
template <class P>
RAPT_INLINE P* opaque(P* address) noexcept {
  asm("" : "+r"(address));
  return address;
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

/// sum = a * b + sum. GCC 12 takes turns with the three forms of FMA, which costs the micro-kernel a copy a
/// step and a spill.
template <class T, class Arch>
RAPT_INLINE void add_product(Batch<T, Arch>& sum, const Batch<T, Arch>& a, const Batch<T, Arch>& b) noexcept {
#if defined(__FMA__) && !defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    asm volatile("vfmadd231ps %2, %1, %0" : "+x"(sum.data) : "x"(a.data), "x"(b.data));
  else
    asm volatile("vfmadd231pd %2, %1, %0" : "+x"(sum.data) : "x"(a.data), "x"(b.data));
#else
  sum = simd::fma(a, b, sum);
#endif
}

/// a / b, correctly rounded. (xsimd 8.1's own is a refined estimate for floats on NEON.)
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> divide(const Batch<T, Arch>& a, const Batch<T, Arch>& b) noexcept {
#if defined(__aarch64__)
  if constexpr (std::is_same_v<T, float>)
    return vdivq_f32(a, b);
  else
    return vdivq_f64(a, b);
#else
  return a / b;
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

/// The lanes l with l < end.
template <class T, class Arch>
RAPT_INLINE Mask<T, Arch> lanes_below(std::ptrdiff_t end) noexcept {
#if defined(__AVX512F__)
  const unsigned lanes = end <= 0 ? 0U : end >= width<T, Arch> ? ~0U : (1U << end) - 1U;
  return Mask<T, Arch>(static_cast<typename Mask<T, Arch>::register_type>(lanes));
#else
  alignas(64) static constexpr T iota[]{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return load<Arch>(iota) < Batch<T, Arch>(static_cast<T>(end));
#endif
}

/// The lanes l with lo <= base + l < hi.
template <class T, class Arch>
RAPT_INLINE Mask<T, Arch> lanes_within(std::ptrdiff_t base, std::ptrdiff_t lo, std::ptrdiff_t hi) noexcept {
  return lanes_below<T, Arch>(hi - base) & !lanes_below<T, Arch>(lo - base);
}

}  // namespace simd
}  // namespace rapt::kernels
