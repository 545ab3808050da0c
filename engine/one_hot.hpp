// How words become a vocabulary: sorted, each once. The order is a parameter so that its uses can be counted.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace rapt {

/// The words once each, ascending by `less`, which is asked some text_len log2(text_len) times.
template <class Less>
std::vector<std::string_view> distinct_words(std::span<const std::string_view> words, const Less& less) {
  std::vector<std::string_view> sorted(words.begin(), words.end());
  std::sort(sorted.begin(), sorted.end(), less);
  const auto same = [&](std::string_view a, std::string_view b) { return !less(a, b); };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
  return sorted;
}

}  // namespace rapt
