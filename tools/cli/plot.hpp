// Plots drawn by gnuplot, run as a child process.
#pragma once

#include <stdexcept>
#include <string>

namespace rapt::cli {

/// Why there is no plot.
struct plot_failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Feeds the commands to gnuplot's standard input and waits for it. Throws plot_failure, which names the
/// Debian package where the program is missing.
void run_gnuplot(const std::string& commands);

/// The text as a gnuplot string.
std::string quoted_for_gnuplot(const std::string& text);

}  // namespace rapt::cli
