// The subcommands of rapt: each adds itself, with its options, to the program. A subcommand runs while the
// command line is parsed; it throws to fail, and main.cpp turns what is thrown into a line on stderr and an
// exit status.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace rapt::cli {

/// What the help of run and explain says of their input.
inline constexpr const char* input_manual =
    "Input: numbers and words separated by blanks, in this order:\n"
    "  n d g text_len; text_len words of at most 20 bytes; n times 1, or 0 for padding;\n"
    "  n prompt rows and g generated rows of d numbers; W_Q, W_K and W_V, d rows of d numbers each.\n";

/// Ends a command's --help: what is to be known beside the options, and lines for the shell. What is the same
/// for every command follows by itself.
inline void add_manual(CLI::App& command, const std::string& notes,
                       std::initializer_list<const char*> examples) {
  std::string text = notes + (notes.empty() ? "Examples:\n" : "\nExamples:\n");
  for (const char* example : examples) text += std::string("  ") + example + "\n";
  command.footer([text] { return text; });
}

/// A check: a number from least to most. Of what was typed; a number too large for its type is not cut to
/// fit, and NaN is in no range.
template <class Number>
auto in_range(Number least, Number most) {
  return [=](const std::string& text) -> std::string {
    Number value{};
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error == std::errc{} && end == last && value >= least && value <= most) return "";
    return "expected a number from " + CLI::detail::to_string(least) + " to " + CLI::detail::to_string(most) +
           ", got '" + text + "'";
  };
}

/// A check: one of these names.
inline auto one_of(std::vector<std::string> names) {
  return [names = std::move(names)](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return "";
    return "expected one of " + CLI::detail::join(names, ", ") + ", got '" + text + "'";
  };
}

/// A check: an empty word is most likely a variable that is not set.
inline std::string not_empty(const std::string& text) { return text.empty() ? "is empty" : ""; }

void add_run(CLI::App& app);
void add_generate(CLI::App& app);
void add_explain(CLI::App& app);
void add_profile(CLI::App& app);
void add_capacity(CLI::App& app);
void add_info(CLI::App& app);

}  // namespace rapt::cli
