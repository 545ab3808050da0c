// What the staged program costs, in closed form: the counts that the complexity of each stage is read from.
#include <rapt/pipeline.hpp>

#include <algorithm>

#include "one_hot.hpp"

namespace rapt::pipeline {

Operations operations(const Input& input) {
  const std::ptrdiff_t n = input.n, d = input.d, g = input.g;
  const auto real =
      std::count_if(input.mask.begin(), input.mask.end(), [](unsigned char m) { return m != 0; });
  const std::ptrdiff_t pairs = real * (real + 1) / 2;
  const std::ptrdiff_t generated_pairs = g * real + g * (g + 1) / 2;
  std::ptrdiff_t comparisons = 0;
  const std::vector<std::string_view> words(input.words.begin(), input.words.end());
  const std::ptrdiff_t unique = std::ssize(
      distinct_words(words, [&](std::string_view a, std::string_view b) { return ++comparisons, a < b; }));
  return {.comparisons = comparisons,
          .one_hot_cells = unique * unique,
          .projection = 3 * n * d * d,
          .scores = pairs * d,
          .exponentials = pairs,
          .output = pairs * d,
          .generation = 3 * g * d * d + 2 * generated_pairs * d};
}

}  // namespace rapt::pipeline
