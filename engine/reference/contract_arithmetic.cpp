// The scalar functions of the numeric contract.
#include "reference/contract_arithmetic.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rapt::reference {
namespace {

template <class T>
constexpr auto exp2_coefficients = std::array<T, 7>{T(0.00015594681497481681),
                                                    T(0.0013406644096376907),
                                                    T(0.0096176929698688246),
                                                    T(0.055503105508063035),
                                                    T(0.24022652782888511),
                                                    T(0.69314721496799868),
                                                    T(1)};
template <>
constexpr auto exp2_coefficients<double> = std::array<double, 12>{
    4.077993856246353777766e-10, 7.072570445469294070623e-9, 1.018064819655581236182e-7,
    1.321544267511558509832e-6,  1.525272738387246288378e-5, 1.540353044157259904215e-4,
    1.333355815344133477352e-3,  9.618129107607001998603e-3, 5.550410866479038925222e-2,
    0.2402265069591009800738,    0.693147180559945696793,    1};

template <class T>
constexpr auto tanh_coefficients =
    std::array<T, 6>{T(0.002142963005133349), T(-0.008177399531267161), T(0.02170070375688647),
                     T(-0.05394676316302426), T(0.1333320600923576),    T(-0.3333333080275717)};
template <>
constexpr auto tanh_coefficients<double> = std::array<double, 12>{
    6.042452418419775e-6, -3.018718192190325e-5, 9.155837065409409e-5, -2.370117048705091e-4,
    5.894517890508666e-4, -1.455725945503485e-3, 3.592113999433177e-3, -8.863234312528252e-3,
    2.186948846871176e-2, -5.396825396605875e-2, 0.1333333333332974,   -0.3333333333333331};

template <class T, class Coefficients>
T horner(const Coefficients& coefficients, T x) {
  T sum = coefficients[0];
  for (std::size_t i = 1; i < coefficients.size(); ++i) sum = std::fma(sum, x, coefficients[i]);
  return sum;
}

}  // namespace

float widen(bf16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

float widen(f16 x) {
  const bool negative = (x.bits & 0x8000U) != 0;
  const int exponent = (x.bits >> 10) & 0x1f, fraction = x.bits & 0x3ff;
  float magnitude = 0;
  if (exponent == 0x1f) {
    magnitude =
        fraction != 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return std::copysign(magnitude, negative ? -1.0F : 1.0F);
}

template <class T>
T pow2(T e) {
  if (std::isnan(e)) return e;
  if (e < T(std::numeric_limits<T>::min_exponent - 1)) return 0;
  const int exponent = static_cast<int>(e);
  return std::ldexp(T(1), exponent);
}

template <class T>
Exp2<T> exp2_split(T y) {
  const T n = std::nearbyint(y);
  return {n, horner(exp2_coefficients<T>, y - n)};
}

template <class T>
T tanh(T x) {
  const T a = std::abs(x), z = a * a;
  const T small = std::fma(a * z, horner(tanh_coefficients<T>, z), a);
  const T y = a * T(2.8853900817779268);
  const Exp2<T> e = exp2_split(y > T(64) ? T(64) : y);
  const T large = 1 - 2 / (1 + e.p * pow2(e.n));
  return std::copysign(a < T(0.625) ? small : large, x);
}

template float pow2(float);
template double pow2(double);
template Exp2<float> exp2_split(float);
template Exp2<double> exp2_split(double);
template float tanh(float);
template double tanh(double);

}  // namespace rapt::reference
