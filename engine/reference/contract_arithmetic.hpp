// The scalar functions of the numeric contract: 2^y in two factors, exact powers of two, tanh, and the
// widening of 16-bit storage. T is float or double. Like the definition that uses them, they include nothing
// of the engine.
//
// 2^y: n = y rounded to an integer, ties to even; f = y - n; p = Horner in f, one fma a step; 2^y = p *
// pow2(n).
//   float:  0.00015594681497481681, 0.0013406644096376907, 0.0096176929698688246, 0.055503105508063035,
//           0.24022652782888511, 0.69314721496799868, 1
//   double: 4.077993856246353777766e-10, 7.072570445469294070623e-9, 1.018064819655581236182e-7,
//           1.321544267511558509832e-6, 1.525272738387246288378e-5, 1.540353044157259904215e-4,
//           1.333355815344133477352e-3, 9.618129107607001998603e-3, 5.550410866479038925222e-2,
//           0.2402265069591009800738, 0.693147180559945696793, 1
//
// tanh(x), branch-free (both halves are computed, one is selected), with a = |x|:
//   z = a * a;  r = Horner in z of the coefficients below, one fma a step;  small = fma(a * z, r, a)
//   y = a * T(2.8853900817779268);  y = min(64, y), in the operand order that keeps a NaN
//   large = 1 - 2 / (1 + 2^y);  tanh(x) = copysign(a < 0.625 ? small : large, x)
//   float:  0.002142963005133349, -0.008177399531267161, 0.02170070375688647, -0.05394676316302426,
//           0.1333320600923576, -0.3333333080275717
//   double: 6.042452418419775e-6, -3.018718192190325e-5, 9.155837065409409e-5, -2.370117048705091e-4,
//           5.894517890508666e-4, -1.455725945503485e-3, 3.592113999433177e-3, -8.863234312528252e-3,
//           2.186948846871176e-2, -5.396825396605875e-2, 0.1333333333332974, -0.3333333333333331
//   The one branch point is 0.625. tanh(0) is 0 with its sign, tanh(NaN) is NaN, and it is exactly +-1 from
//   about |x| = 9.0 (float) or 19.1 (double) on. tests/reference_arithmetic_test.cpp holds its error.
#pragma once

#include <rapt/dtype.hpp>

namespace rapt::reference {

/// y = n + f and p = 2^f: the two factors of 2^y = p * pow2(n).
template <class T>
struct Exp2 {
  T n;
  T p;
};
template <class T>
Exp2<T> exp2_split(T y);

/// Exactly 2^e for an integer e from EMIN on, 0 below, NaN for NaN.
template <class T>
T pow2(T e);

/// The contract's tanh.
template <class T>
T tanh(T x);

/// Exact: every bf16 and f16 is a float.
inline float widen(float x) { return x; }
inline double widen(double x) { return x; }
float widen(bf16 x);
float widen(f16 x);

}  // namespace rapt::reference
