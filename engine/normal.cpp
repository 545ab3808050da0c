#include "normal.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace rapt {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014).
std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

template <std::size_t N>
double polynomial(const std::array<double, N>& highest_first, double x) noexcept {
  double sum = highest_first[0];
  for (std::size_t i = 1; i < N; ++i) sum = sum * x + highest_first[i];
  return sum;
}

// log(p) for p in [2^-54, 1): p = m 2^e with m in [sqrt(1/2), sqrt(2)), log(m) = 2 atanh(z), z = (m - 1) / (m
// + 1). |z| < 0.172, so the series ends below 2^-53 after z^19. frexp is exact.
double portable_log(double p) noexcept {
  int exponent = 0;
  double m = std::frexp(p, &exponent);
  if (m < 0.70710678118654752) {
    m += m;
    --exponent;
  }
  const double z = (m - 1.0) / (m + 1.0);
  constexpr std::array<double, 10> odd_inverses{1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                                1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  return static_cast<double>(exponent) * 0.6931471805599453 + 2.0 * z * polynomial(odd_inverses, z * z);
}

// The normal quantile: Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37, 1988. The coefficients are
// its table.
double normal_quantile(double p) noexcept {
  constexpr std::array<double, 8> centre_top{
      2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
      1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0};
  constexpr std::array<double, 8> centre_bottom{
      5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
      5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0};
  constexpr std::array<double, 8> near_top{7.74545014278341407640e-4, 2.27238449892691845833e-2,
                                           2.41780725177450611770e-1, 1.27045825245236838258e0,
                                           3.64784832476320460504e0,  5.76949722146069140550e0,
                                           4.63033784615654529590e0,  1.42343711074968357734e0};
  constexpr std::array<double, 8> near_bottom{1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                              1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                              6.89767334985100004550e-1, 1.67638483018380384940e0,
                                              2.05319162663775882187e0,  1.0};
  constexpr std::array<double, 8> far_top{2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                          1.24266094738807843860e-3, 2.65321895265761230930e-2,
                                          2.96560571828504891230e-1, 1.78482653991729133580e0,
                                          5.46378491116411436990e0,  6.65790464350110377720e0};
  constexpr std::array<double, 8> far_bottom{2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                             1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                             1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                             5.99832206555887937690e-1,  1.0};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(centre_top, r) / polynomial(centre_bottom, r);
  }
  const double r = std::sqrt(-portable_log(q < 0.0 ? p : 1.0 - p));
  const double x = r <= 5.0 ? polynomial(near_top, r - 1.6) / polynomial(near_bottom, r - 1.6)
                            : polynomial(far_top, r - 5.0) / polynomial(far_bottom, r - 5.0);
  return q < 0.0 ? -x : x;
}

}  // namespace

double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept {
  constexpr std::uint64_t golden =
      0x9e3779b97f4a7c15U;  // SplitMix64's odd step: a sequence of 2^64 different states
  const std::uint64_t start = mix(mix(seed + golden) + stream);
  const std::uint64_t bits = mix(start + (index + 1) * golden);
  // The middle of one of 2^52 equal cells of (0, 1): 53 bits, so the conversion is exact and p is never 0
  // or 1.
  const double p = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  return normal_quantile(p);
}

}  // namespace rapt
