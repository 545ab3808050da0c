#include "profile_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot.hpp"

namespace rapt::cli {
namespace {

std::string shown_seconds(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6) : fmt::format("{:.2f} ms", seconds * 1e3);
}

bool can_fit(const Curve& curve) { return curve.points.size() >= 3; }

const StageKind& kind_of(const Curve& curve) {
  return *std::find_if(std::begin(stage_kinds), std::end(stage_kinds),
                       [&](const StageKind& kind) { return curve.stage == kind.name; });
}

Table measured_points(const std::vector<Curve>& curves) {
  Table table{.columns = {"sweep", "stage", "size", "time", "operations", "Gop/s", "touches"}, .rows = {}};
  for (const Curve& curve : curves) {
    for (const Point& point : curve.points) {
      const double rate = static_cast<double>(point.operations) / point.seconds / 1e9;
      table.rows.push_back({curve.sweep, curve.stage, std::int64_t{point.at},
                            Cell(point.seconds, shown_seconds(point.seconds)), std::int64_t{point.operations},
                            Cell(rate, fmt::format("{:.3f}", rate)),
                            Cell(std::int64_t{point.bytes}, shown_bytes(point.bytes))});
    }
  }
  return table;
}

/// A line for each stage that was measured, in the order of the stages.
Table kinds_in(const std::vector<Curve>& curves) {
  Table table{.columns = {"stage", "operations", "grows as", "because"}, .rows = {}};
  for (const StageKind& kind : stage_kinds) {
    if (std::any_of(curves.begin(), curves.end(),
                    [&](const Curve& curve) { return curve.stage == kind.name && !curve.points.empty(); }))
      table.rows.push_back({kind.name, kind.operations, kind.growth, kind.reason});
  }
  return table;
}

Table growths(const std::vector<Curve>& curves) {
  Table table{
      .columns = {"sweep", "stage", "grows as", "upper range", "predicted", "fitted", "spread", "verdict"},
      .rows = {}};
  const std::vector<DataCache> caches = data_caches();
  const auto two = [](double value) { return Cell(value, fmt::format("{:.2f}", value)); };
  for (const Curve& curve : curves) {
    if (!can_fit(curve)) continue;
    const Growth growth = growth_of(curve.points);
    table.rows.push_back({curve.sweep, curve.stage, kind_of(curve).growth,
                          fmt::format("{} to {}", curve.points[growth.first].at, curve.points.back().at),
                          two(growth.predicted), two(growth.measured.exponent), two(growth.measured.spread),
                          verdict(curve.points, curve.sweep, caches)});
  }
  return table;
}

/// How many times as fast generation is with the cache, where both were measured.
std::string gain_of_the_cache(const std::vector<Curve>& curves) {
  std::string text;
  for (const Curve& with : curves) {
    for (const Curve& without : curves) {
      if (with.stage != "6 generation" || without.stage != "6 without cache" || with.sweep != without.sweep)
        continue;
      std::string gains;
      for (std::size_t i = 0; i < std::min(with.points.size(), without.points.size()); ++i) {
        gains += fmt::format("{}{} at {}", gains.empty() ? "" : ", ",
                             fmt::format("{:.0f} x", without.points[i].seconds / with.points[i].seconds),
                             with.points[i].at);
      }
      if (!gains.empty()) text += fmt::format("{:<3}{}\n", with.sweep, gains);
    }
  }
  return text.empty() ? "" : "\nThe KV cache makes generation faster, as each parameter grows:\n\n" + text;
}

}  // namespace

void Curve::add(const Point& point) {
  const auto same =
      std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.at == point.at; });
  if (same == points.end()) {
    points.push_back(point);
  } else {
    same->seconds = std::min(same->seconds, point.seconds);
  }
}

Table points_table(const std::vector<Curve>& curves, const ProfileSize& base) {
  Table table{
      .columns = {"sweep", "stage", "n", "d", "g", "text_len", "seconds", "operations", "working_set_bytes",
                  "fitted_exponent", "spread", "predicted_exponent", "verdict", "growth", "reason"},
      .rows = {}};
  const std::vector<DataCache> caches = data_caches();
  for (const Curve& curve : curves) {
    const bool fits = can_fit(curve);
    const Growth growth = fits ? growth_of(curve.points) : Growth{0, {NAN, NAN, NAN}, NAN};
    const std::string why = fits ? verdict(curve.points, curve.sweep, caches) : "too few points";
    const StageKind& kind = kind_of(curve);
    for (const Point& point : curve.points) {
      ProfileSize size = base;
      size.*curve.parameter = point.at;
      table.rows.push_back({curve.sweep, curve.stage, std::int64_t{size.n}, std::int64_t{size.d},
                            std::int64_t{size.g}, std::int64_t{size.text_len}, point.seconds,
                            std::int64_t{point.operations}, std::int64_t{point.bytes},
                            growth.measured.exponent, growth.measured.spread, growth.predicted, why,
                            kind.growth, kind.reason});
    }
  }
  return table;
}

std::string in_words(const std::vector<Curve>& curves, const ProfileSize& base, int repeats) {
  return fmt::format(
             "One head, f64, textbook arithmetic (fused and generation: fused), one thread; CPU time, the "
             "least of {}.\n"
             "While one parameter grows the others are n = {}, d = {}, g = {}. Operations are multiply-adds\n"
             "(stage 1: comparisons and cells printed, stage 4: exponentials), counted exactly.\n\n",
             repeats, base.n, base.d, base.g) +
         to_text(measured_points(curves)) + "\nWhat each stage must cost, and why.\n\n" +
         to_text(kinds_in(curves)) +
         "\nTime grows as size^exponent. Predicted: the exponent of the exact operations over the same "
         "sizes.\n\n" +
         to_text(growths(curves)) + gain_of_the_cache(curves);
}

std::string plot_commands(const std::vector<Curve>& curves, const std::string& file) {
  std::string text =
      plot_beginning(file, 1200, 600) +
      "set format x '%g'\nset format y '10^{%T}'\nset key left top reverse Left samplen 1\nset samples 2\n"
      "set xtics 4\n"
      "set multiplot layout 2,4 title 'rapt profile: seconds against size, the fitted exponent and (the "
      "predicted one)'\n";
  std::vector<std::string> stages;
  for (const Curve& curve : curves) {
    if (std::find(stages.begin(), stages.end(), curve.stage) == stages.end()) stages.push_back(curve.stage);
  }
  std::sort(stages.begin(), stages.end());
  for (const std::string& stage : stages) {
    std::string data, plots;
    std::size_t colour = 0;
    for (const Curve& curve : curves) {
      if (curve.stage != stage || !can_fit(curve)) continue;
      const Growth growth = growth_of(curve.points);
      const std::string block = fmt::format("$data{}", colour);
      data += fmt::format("{} << END\n", block);
      for (const Point& point : curve.points) data += fmt::format("{} {}\n", point.at, point.seconds);
      data += "END\n";
      const char* const paint = plot_colours[colour++ % plot_colours.size()];
      plots += fmt::format("{0}{1} with points pt 7 ps 0.6 lc rgb '{2}' title '{3}^{{{4:.2f}}} ({5:.2f})', ",
                           plots.empty() ? "plot " : ", ", block, paint,
                           curve.sweep == "text_len" ? "words" : curve.sweep, growth.measured.exponent,
                           growth.predicted);
      plots += fmt::format("[{}:{}] {} * x**{} with lines lw 1.5 lc rgb '{}' notitle",
                           curve.points[growth.first].at, curve.points.back().at, growth.measured.factor,
                           growth.measured.exponent, paint);
    }
    if (!plots.empty()) text += fmt::format("{}set title 'stage {}'\n{}\n", data, stage, plots);
  }
  return text + "unset multiplot\n";
}

}  // namespace rapt::cli
