// Plots drawn by gnuplot, run as a child process: the option that asks for one, and what all of them look
// like.
#pragma once

#include <CLI/CLI.hpp>

#include <array>
#include <stdexcept>
#include <string>

namespace rapt::cli {

/// Why there is no plot.
struct plot_failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// --plot OUT.svg|OUT.png; the help says first what it draws.
void add_plot(CLI::App& command, std::string& file, const std::string& help);

/// Commands that every plot begins with: the kind of picture that the file's name says, its size in pixels,
/// logarithmic axes and a light grid.
std::string plot_beginning(const std::string& file, int width, int height);

/// Of lines and points, told apart on white.
inline constexpr std::array<const char*, 4> plot_colours{"#1d4ed8", "#b45309", "#047857", "#7e22ce"};

/// Asks before work begins whether gnuplot runs and the file can be made. Throws as draw, and invalid_input.
void check_plot(const std::string& file);

/// Has gnuplot draw and writes the file; the name is never part of a command. Throws plot_failure, which
/// names the Debian package where the program is missing, or output_failure.
void draw(const std::string& file, const std::string& commands);

/// The text as a gnuplot string.
std::string quoted_for_gnuplot(const std::string& text);

}  // namespace rapt::cli
