// How measured cost grows: power laws fitted to the points of a sweep, and what they are held against.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rapt::cli {

/// One stage at one size of a sweep.
struct Point {
  std::ptrdiff_t at;  // the value of the swept parameter
  double seconds;
  std::ptrdiff_t operations;
};

/// y = c x^exponent through logarithms, least squares.
struct PowerLaw {
  double exponent;
  double spread;  // standard error of the exponent
  double factor;  // c
};
PowerLaw fit(const std::vector<double>& x, const std::vector<double>& y);

/// The time of the upper half of the points, and what the exact counts there predict.
struct Growth {
  std::size_t first;  // the point where the upper range begins
  PowerLaw measured;
  double predicted;
};
Growth growth_of(const std::vector<Point>& points);

/// "agrees", or why not at these sizes.
std::string verdict(const Growth& growth);

}  // namespace rapt::cli
