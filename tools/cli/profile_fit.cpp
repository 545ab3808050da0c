#include "profile_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "table.hpp"

namespace rapt::cli {
namespace {

constexpr double allowed = 0.15;

double cost(const Point& point) { return point.seconds / static_cast<double>(point.operations); }

/// The middle of the points' seconds an operation.
double typical_cost(std::span<const Point> points) {
  std::vector<double> costs;
  for (const Point& point : points) costs.push_back(cost(point));
  std::sort(costs.begin(), costs.end());
  return (costs[(costs.size() - 1) / 2] + costs[costs.size() / 2]) / 2;
}

/// The outgrown cache beyond which an operation costs most more than within it.
std::optional<std::string> outgrown_cache(std::span<const Point> points,
                                          const std::vector<DataCache>& caches) {
  std::optional<std::string> found;
  double most = 1.3;  // less may be noise
  for (const DataCache& cache : caches) {
    // Sizes grow from point to point, and so does what they hold.
    const auto within = static_cast<std::size_t>(
        std::count_if(points.begin(), points.end(), [&](const Point& p) { return p.bytes <= cache.bytes; }));
    if (within == 0 || within == points.size()) continue;
    const double dearer = typical_cost(points.subspan(within)) / typical_cost(points.first(within));
    if (dearer < most) continue;
    most = dearer;
    found =
        fmt::format("faster growth: {} at the end, beyond the {} of {}, where an operation costs {:.1f} x",
                    shown_bytes(points.back().bytes), cache.level, shown_bytes(cache.bytes), dearer);
  }
  return found;
}

/// The seconds that stay the same while the operations grow: of the line through the points, each weighed
/// by its own size.
double constant_seconds(std::span<const Point> points) {
  double ww = 0, wx = 0, xx = 0, wy = 0, xy = 0;
  for (const Point& point : points) {
    const double w = 1 / point.seconds, x = static_cast<double>(point.operations) * w;
    ww += w * w, wx += w * x, xx += x * x, wy += w, xy += x;
  }
  return (wy * xx - xy * wx) / (ww * xx - wx * wx);
}

}  // namespace

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

std::string verdict(const std::vector<Point>& points, const std::string& sweep,
                    const std::vector<DataCache>& caches) {
  const Growth growth = growth_of(points);
  const double more = growth.measured.exponent - growth.predicted;
  if (std::abs(more) <= allowed) return "agrees";
  const std::span<const Point> upper = std::span(points).subspan(growth.first);
  // A cache makes a step in the line, which counts as spread: what else the spread may explain comes after.
  const auto cache = more > 0 ? outgrown_cache(points, caches) : std::nullopt;
  if (cache) return *cache;
  if (std::abs(more) <= allowed + 2 * growth.measured.spread)
    return "unclear: the points scatter; measure again on a quiet machine, or with more --repeats";
  if (more < 0) {
    const double constant = constant_seconds(upper), share = constant / upper.front().seconds;
    if (share > allowed) {
      return fmt::format("slower growth: at {} = {}, {:.0f} % of the time is in costs that grow less", sweep,
                         upper.front().at, std::min(share, 1.0) * 100);
    }
  }
  return fmt::format("{} growth: an operation costs {:.1f} x at the end of what it does at {} = {}",
                     more < 0 ? "slower" : "faster", cost(upper.back()) / cost(upper.front()), sweep,
                     upper.front().at);
}

}  // namespace rapt::cli
