// What the cases of the staged program share: one head's numbers, what the reference makes of them, and how
// far from it a stage may be.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "measure.hpp"
#include "reference/staged.hpp"
#include "shapes.hpp"
#include "workspace.hpp"

namespace rapt::bench {

template <class T>
std::vector<T> rounded(const std::vector<double>& values) {
  return std::vector<T>(values.begin(), values.end());
}

template <class Body>
double seconds_of(const Body& body) {
  const double start = measure::thread_cpu_seconds();
  body();
  return measure::thread_cpu_seconds() - start;
}

/// The head that all stages work on: random numbers, no padding, and what the reference makes of them.
template <class T>
struct Head {
  explicit Head(const Shape& shape)
      : n(shape.n),
        d(shape.d),
        g(shape.g),
        x(random_array<T>((n + g) * d, 1)),
        wq(random_array<T>(d * d, 2)),
        wk(random_array<T>(d * d, 3)),
        wv(random_array<T>(d * d, 4)) {
    const auto widened = [](const T* from, Size count) { return std::vector<double>(from, from + count); };
    reference::StagedInput input{.n = static_cast<int>(n),
                                 .d = static_cast<int>(d),
                                 .g = static_cast<int>(g),
                                 .words = {"word"},
                                 .mask = std::vector<unsigned char>(static_cast<std::size_t>(n), 1),
                                 .prompt = widened(x.data(), n * d),
                                 .generated = widened(x.data() + n * d, g * d),
                                 .wq = widened(wq.data(), d * d),
                                 .wk = widened(wk.data(), d * d),
                                 .wv = widened(wv.data(), d * d)};
    result = reference::staged(input);
  }

  Size n, d, g;
  std::vector<T> x;           // [n + g, d]
  std::vector<T> wq, wk, wv;  // [d, d]
  reference::StagedResult result;
};

/// Compares with the reference: the same bits for f64 in textbook arithmetic, which is what the reference is;
/// else within `bound`, which each stage derives: u is the unit roundoff of T, and the stage's inputs are the
/// reference's rounded to T.
template <class T>
std::string difference(const Shape& shape, const std::vector<T>& actual, const std::vector<double>& expected,
                       double bound) {
  const bool exact = std::is_same_v<T, double> && shape.arithmetic == Arithmetic::textbook;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double is = static_cast<double>(actual[i]);
    const bool same = is == expected[i] || (!exact && std::abs(is - expected[i]) <= bound);
    if (!same) {
      return "element " + std::to_string(i) + " is " + std::to_string(is) + ", the reference says " +
             std::to_string(expected[i]) + " (allowed error " + std::to_string(exact ? 0.0 : bound) + ")";
    }
  }
  return "";
}

template <class T>
constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;

inline double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::isfinite(value) ? std::max(most, std::abs(value)) : most;
  return most;
}

/// How far from the reference each stage of a whole run in T may be, both sides' roundings counted. First
/// order, with room: the numbers of the input are at most 1, so that |x w| summed over d is at most d.
template <class T>
struct Bounds {
  Bounds(const reference::StagedResult& result, const Shape& shape) {
    const double d = static_cast<double>(shape.d), keys = static_cast<double>(shape.n + shape.g);
    const double q = largest(result.q), k = largest(result.k), v = std::max(largest(result.v), d);
    projection = 2 * (d + 1) * d * u<T>;
    // d products of rounded operands over sqrt(d).
    scores = std::sqrt(d) * ((q + k) * projection + 2 * (d + 5) * q * k * u<T>);
    // exp of a difference of scores, over a sum of the same.
    weights = 2 * std::expm1(2 * scores) + 2 * (keys + 16) * u<T>;
    output = v * (weights + 2 * (keys + 3) * u<T>)+projection;
  }
  double projection, scores, weights, output;
};

}  // namespace rapt::bench
