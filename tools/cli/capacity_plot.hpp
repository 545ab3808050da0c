// What rapt capacity counts, as a picture.
#pragma once

#include <string>

#include "capacity_plan.hpp"

namespace rapt::cli {

/// For gnuplot: allocated bytes against tokens, a line for each plan, with the tokens and the memory that
/// were asked about marked on it.
std::string plot_commands(const CapacityQuestion& question, const std::string& file);

}  // namespace rapt::cli
