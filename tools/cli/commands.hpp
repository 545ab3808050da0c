// The subcommands of rapt: each adds itself, with its options, to the program. A subcommand runs while the
// command line is parsed; it throws to fail, and main.cpp turns what is thrown into a line on stderr and an
// exit status.
#pragma once

#include <CLI/CLI.hpp>

namespace rapt::cli {

void add_run(CLI::App& app);
void add_generate(CLI::App& app);
void add_explain(CLI::App& app);
void add_profile(CLI::App& app);
void add_capacity(CLI::App& app);
void add_info(CLI::App& app);

}  // namespace rapt::cli
