// How measured cost grows: power laws fitted to the points of a sweep, what they are held against, and why
// the two differ where they do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "caches.hpp"

namespace rapt::cli {

/// One stage at one size of a sweep.
struct Point {
  std::ptrdiff_t at;  // the value of the swept parameter
  double seconds;
  std::ptrdiff_t operations;
  std::ptrdiff_t bytes;  // what one run reads and writes, each byte once
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

/// "agrees", or why not at these sizes, with the numbers that say so: the cache that the working set of this
/// sweep outgrows, the part of the time that does not grow, or the noise.
std::string verdict(const std::vector<Point>& points, const std::string& sweep,
                    const std::vector<DataCache>& caches);

}  // namespace rapt::cli
