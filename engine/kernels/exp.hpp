// exp2 and tanh of the numeric contract: the same polynomial, order and branch points on every ISA. Part of
// the results.
#pragma once

#include "kernels/pow2.hpp"

namespace rapt::kernels {

/// Coefficients, highest degree first. 2^f on [-1/2, 1/2]: approximation error 2.6e-9 (float, degree
/// 6), 1.8e-17 (double, degree 11); at most 0.71 ulp once rounded. tanh(a) = a + a^3 r(a^2) below 0.625.
template <class T>
struct Coefficients;
template <>
struct Coefficients<float> {
  static constexpr float exp2[]{0.00015594681497481681F,
                                0.0013406644096376907F,
                                0.0096176929698688246F,
                                0.055503105508063035F,
                                0.24022652782888511F,
                                0.69314721496799868F,
                                1.0F};
  static constexpr float tanh[]{0.002142963005133349F, -0.008177399531267161F, 0.02170070375688647F,
                                -0.05394676316302426F, 0.1333320600923576F,    -0.3333333080275717F};
};
template <>
struct Coefficients<double> {
  static constexpr double exp2[]{
      4.077993856246353777766e-10, 7.072570445469294070623e-9, 1.018064819655581236182e-7,
      1.321544267511558509832e-6,  1.525272738387246288378e-5, 1.540353044157259904215e-4,
      1.333355815344133477352e-3,  9.618129107607001998603e-3, 5.550410866479038925222e-2,
      0.2402265069591009800738,    0.693147180559945696793,    1.0};
  static constexpr double tanh[]{6.042452418419775e-6,  -3.018718192190325e-5, 9.155837065409409e-5,
                                 -2.370117048705091e-4, 5.894517890508666e-4,  -1.455725945503485e-3,
                                 3.592113999433177e-3,  -8.863234312528252e-3, 2.186948846871176e-2,
                                 -5.396825396605875e-2, 0.1333333333332974,    -0.3333333333333331};
};

template <class T, class Arch, std::size_t N>
RAPT_INLINE Batch<T, Arch> horner(const T (&coefficients)[N], const Batch<T, Arch>& x) noexcept {
  Batch<T, Arch> sum = simd::broadcast<Arch>(coefficients[0]);
#pragma GCC unroll 16
  for (std::size_t i = 1; i < N; ++i) sum = simd::fma(sum, x, simd::broadcast<Arch>(coefficients[i]));
  return sum;
}

/// 2^y = p * 2^n with an integer n and p in [0.7, 1.42]. NaN where y is NaN or infinite. y - n is exact at
/// every magnitude, where the fused form fma(s, c, -n) leaves [-1/2, 1/2] beyond 2^24 and overflows.
template <class T, class Arch>
struct Exp2 {
  Batch<T, Arch> n, p;

  explicit RAPT_INLINE Exp2(const Batch<T, Arch>& y) noexcept
      : n(simd::round_even(y)), p(horner(Coefficients<T>::exp2, y - n)) {}
};

/// tanh(x), odd to the bit; NaN stays NaN. Both halves are computed and one is taken.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> contract_tanh(const Batch<T, Arch>& x) noexcept {
  const Batch<T, Arch> one = simd::broadcast<Arch>(T(1)), sign = simd::broadcast<Arch>(T(-0.0));
  const Batch<T, Arch> a = xsimd::abs(x), z = a * a;
  const Batch<T, Arch> small = simd::fma(a * z, horner(Coefficients<T>::tanh, z), a);
  const Batch<T, Arch> y =
      simd::clamp_above(simd::broadcast<Arch>(T(64)), a * simd::broadcast<Arch>(T(2.8853900817779268)));
  const Exp2<T, Arch> e(y);
  const Batch<T, Arch> large =
      one - simd::divide(simd::broadcast<Arch>(T(2)), one + simd::times_pow2(e.p, e.n));
  const Batch<T, Arch> magnitude = xsimd::select(a < simd::broadcast<Arch>(T(0.625)), small, large);
  return xsimd::bitwise_or(xsimd::abs(magnitude), xsimd::bitwise_and(x, sign));
}

}  // namespace rapt::kernels
