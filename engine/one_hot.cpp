// The one-hot table: distinct words in byte order, and the identity matrix as their vectors.
#include "one_hot.hpp"

#include <rapt/embedding.hpp>
#include <rapt/error.hpp>

#include <algorithm>
#include <array>
#include <functional>

#include "quoted_bytes.hpp"
#include "view_checks.hpp"

namespace rapt {

// std::string_view compares as memcmp does, that is by unsigned bytes: the order of the table.
OneHotTable::OneHotTable(std::span<const std::string_view> words) {
  const std::vector<std::string_view> sorted = distinct_words(words, std::less<>());
  words_.assign(sorted.begin(), sorted.end());
}

std::ptrdiff_t OneHotTable::index_of(std::string_view word) const {
  const auto found = std::lower_bound(words_.begin(), words_.end(), word);
  if (found == words_.end() || *found != word) {
    throw invalid_input("index_of: the word " + quoted_bytes(word) + " is not in the one-hot table of " +
                        std::to_string(size()) + " words");
  }
  return found - words_.begin();
}

void OneHotTable::vectors(View<double, 2> out) const {
  if (out.extents[0] != size() || out.extents[1] != size()) {
    throw invalid_input("vectors: out is [" + std::to_string(out.extents[0]) + ", " +
                        std::to_string(out.extents[1]) + "], expected [" + std::to_string(size()) + ", " +
                        std::to_string(size()) + "]");
  }
  require_apart({}, std::array{footprint("vectors: out", {"words", "words"}, out)});
  for (std::ptrdiff_t i = 0; i < size(); ++i) {
    for (std::ptrdiff_t j = 0; j < size(); ++j) out(i, j) = i == j ? 1.0 : 0.0;
  }
}

}  // namespace rapt
