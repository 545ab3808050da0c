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

}  // namespace

Table points_table(const std::vector<Curve>& curves, const ProfileSize& base) {
  Table table{.columns = {"sweep", "stage", "n", "d", "g", "text_len", "seconds", "operations",
                          "fitted_exponent", "spread", "predicted_exponent", "verdict"},
              .rows = {}};
  for (const Curve& curve : curves) {
    const Growth growth = can_fit(curve) ? growth_of(curve.points) : Growth{0, {NAN, NAN, NAN}, NAN};
    for (const Point& point : curve.points) {
      ProfileSize size = base;
      size.*curve.parameter = point.at;
      table.rows.push_back({curve.sweep, curve.stage, std::int64_t{size.n}, std::int64_t{size.d},
                            std::int64_t{size.g}, std::int64_t{size.text_len}, point.seconds,
                            std::int64_t{point.operations}, growth.measured.exponent, growth.measured.spread,
                            growth.predicted, can_fit(curve) ? verdict(growth) : "too few points"});
    }
  }
  return table;
}

std::string in_words(const std::vector<Curve>& curves, const ProfileSize& base, int repeats) {
  Table points{.columns = {"sweep", "stage", "size", "time", "operations", "Gop/s"}, .rows = {}};
  Table fits{
      .columns = {"sweep", "stage", "upper range", "operations", "predicted", "fitted", "spread", "verdict"},
      .rows = {}};
  for (const Curve& curve : curves) {
    for (const Point& point : curve.points) {
      const double rate = static_cast<double>(point.operations) / point.seconds / 1e9;
      points.rows.push_back({curve.sweep, curve.stage, std::int64_t{point.at},
                             Cell(point.seconds, shown_seconds(point.seconds)),
                             std::int64_t{point.operations}, Cell(rate, fmt::format("{:.3f}", rate))});
    }
    if (!can_fit(curve)) continue;
    const Growth growth = growth_of(curve.points);
    const auto two = [](double value) { return Cell(value, fmt::format("{:.2f}", value)); };
    fits.rows.push_back({curve.sweep, curve.stage,
                         fmt::format("{} to {}", curve.points[growth.first].at, curve.points.back().at),
                         curve.formula, two(growth.predicted), two(growth.measured.exponent),
                         two(growth.measured.spread), verdict(growth)});
  }
  return fmt::format(
             "One head, f64, textbook arithmetic (fused and generation: fused), one thread; CPU time, the "
             "least of {}.\n"
             "While one parameter grows the others are n = {}, d = {}, g = {}. Operations are multiply-adds\n"
             "(stage 1: cells printed, stage 4: exponentials), counted exactly.\n\n",
             repeats, base.n, base.d, base.g) +
         to_text(points) +
         "\nTime grows as size^exponent. Predicted: of the exact operations over the same sizes.\n\n" +
         to_text(fits);
}

std::string plot_commands(const std::vector<Curve>& curves, const std::string& file) {
  const bool svg = file.ends_with(".svg");
  std::string text = svg ? "set terminal svg size 1200,600 font 'sans,11' background 'white'\n"
                         : "set terminal pngcairo size 1200,600 font 'sans,9'\n";
  text += "set output " + quoted_for_gnuplot(file) +
          "\nset logscale xy\nset format x '%g'\nset format y '10^{%T}'\nset key left top reverse Left "
          "samplen 1\nset samples 2\n"
          "set grid back lc rgb '#dddddd'\nset border 3\nset tics nomirror\nset xtics 4\n"
          "set multiplot layout 2,4 title 'rapt profile: seconds against size, and the fitted exponent'\n";
  static constexpr const char* colours[] = {"#1d4ed8", "#b45309", "#047857", "#7e22ce"};
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
      data += block + " << END\n";
      for (const Point& point : curve.points) data += fmt::format("{} {}\n", point.at, point.seconds);
      data += "END\n";
      const char* const paint = colours[colour++ % std::size(colours)];
      plots += fmt::format("{0}{1} with points pt 7 ps 0.6 lc rgb '{2}' title '{3}^{{{4:.2f}}}', ",
                           plots.empty() ? "plot " : ", ", block, paint,
                           curve.sweep == "text_len" ? "words" : curve.sweep, growth.measured.exponent);
      plots += fmt::format("[{}:{}] {} * x**{} with lines lw 1.5 lc rgb '{}' notitle",
                           curve.points[growth.first].at, curve.points.back().at, growth.measured.factor,
                           growth.measured.exponent, paint);
    }
    if (!plots.empty()) text += data + "set title 'stage " + stage + "'\n" + plots + "\n";
  }
  return text + "unset multiplot\n";
}

}  // namespace rapt::cli
