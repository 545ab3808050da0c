// What rapt profile measured, as tables and as a plot.
#pragma once

#include <string>
#include <vector>

#include "profile_fit.hpp"
#include "profile_stages.hpp"
#include "table.hpp"

namespace rapt::cli {

/// One stage in the sweep of one parameter.
struct Curve {
  std::string sweep;
  std::ptrdiff_t ProfileSize::*parameter;
  std::string stage;
  std::vector<Point> points;

  /// One more measurement; of two at one size the lesser counts.
  void add(const Point& point);
};

/// Every point, with what its curve comes to: for programs.
Table points_table(const std::vector<Curve>& curves, const ProfileSize& base);

/// Both tables to read: the points, and how they grow.
std::string in_words(const std::vector<Curve>& curves, const ProfileSize& base, int repeats);

/// For gnuplot: one panel for each stage, time against size, and the fitted line over the upper range.
std::string plot_commands(const std::vector<Curve>& curves, const std::string& file);

}  // namespace rapt::cli
