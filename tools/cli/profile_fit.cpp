#include "profile_fit.hpp"

#include <algorithm>
#include <cmath>

namespace rapt::cli {

PowerLaw fit(const std::vector<double>& x, const std::vector<double>& y) {
  const double count = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / count;
    mean_y += std::log(y[i]) / count;
  }
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = std::log(x[i]) - mean_x, dy = std::log(y[i]) - mean_y;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  const double exponent = xy / xx;
  const double unexplained = std::max(0.0, yy - exponent * xy);
  return {.exponent = exponent,
          .spread = count > 2 ? std::sqrt(unexplained / (count - 2) / xx) : 0,
          .factor = std::exp(mean_y - exponent * mean_x)};
}

Growth growth_of(const std::vector<Point>& points) {
  const std::size_t upper = std::min(points.size(), std::max<std::size_t>(3, (points.size() + 1) / 2));
  const std::size_t first = points.size() - upper;
  std::vector<double> at, seconds, operations;
  for (std::size_t i = first; i < points.size(); ++i) {
    at.push_back(static_cast<double>(points[i].at));
    seconds.push_back(points[i].seconds);
    operations.push_back(static_cast<double>(points[i].operations));
  }
  return {.first = first, .measured = fit(at, seconds), .predicted = fit(at, operations).exponent};
}

std::string verdict(const Growth& growth) {
  constexpr double allowed = 0.15;
  const double more = growth.measured.exponent - growth.predicted;
  if (std::abs(more) <= allowed) return "agrees";
  if (std::abs(more) <= allowed + 2 * growth.measured.spread)
    return "unclear: the points leave the line, by noise or where a cache is full";
  return more < 0 ? "slower growth: lesser costs still count at these sizes"
                  : "faster growth: the working set outgrows a cache";
}

}  // namespace rapt::cli
