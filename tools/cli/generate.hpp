// Valid inputs of the staged program, for rapt generate and for whoever explains words.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::cli {

struct GenerateOptions {
  std::int64_t n = 8, d = 16, g = 4, text_len = 8;
  std::uint64_t seed = 1;
  double mask_rate = 0;
  int decimals = 2;
  bool structured = false;
  std::string text;
};

/// The words of a text separated by blanks.
std::vector<std::string> split(const std::string& text);

/// Writes the input, a chunk at a time. Throws CLI::ValidationError, before anything is written, when the
/// options cannot be met.
void generate(const GenerateOptions& options, const std::function<void(std::string_view)>& write);

}  // namespace rapt::cli
