#include "reading.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "table.hpp"

namespace rapt::cli {
namespace {

/// The same rows as one prompt: a generated row sees what a prompt row in its place would.
pipeline::Input as_one_prompt(const pipeline::Input& input) {
  pipeline::Input all = input;
  all.n += all.g;
  all.mask.insert(all.mask.end(), static_cast<std::size_t>(all.g), 1);
  all.prompt.insert(all.prompt.end(), all.generated.begin(), all.generated.end());
  all.generated.clear();
  all.g = 0;
  return all;
}

}  // namespace

Reading::Reading(pipeline::Input input)
    : input_(std::move(input)),
      result_(pipeline::run(input_)),
      weights_(pipeline::run(as_one_prompt(input_)).weights) {
  for (std::size_t i = 0; i < input_.mask.size(); ++i) {
    const bool real = input_.mask[i] != 0;
    tokens_.push_back({has_word_for_each_row() ? printable(input_.words[i]) : "row " + std::to_string(i),
                       real ? TokenKind::prompt : TokenKind::padding});
    padding_ += real ? 0 : 1;
  }
  for (std::ptrdiff_t t = 0; t < input_.g; ++t)
    tokens_.push_back({"Gen " + std::to_string(t), TokenKind::generated});
}

std::string Reading::name(std::size_t row) const {
  const Token& token = tokens_[row];
  const bool is_word = has_word_for_each_row() && token.kind != TokenKind::generated;
  return is_word ? token.label + "[" + std::to_string(row) + "]" : token.label;
}

std::string Reading::summary() const {
  const std::string last = std::to_string(input_.n - 1);
  std::string text = input_.n == 1 ? "Row 0 is the prompt" : "Rows 0 to " + last + " are the prompt";
  if (padding_ > 0)
    text += input_.n == 1 ? ", padding" : ", " + std::to_string(padding_) + " of them padding";
  if (input_.g == 1) text += "; Gen 0 was generated after it";
  if (input_.g > 1) text += "; Gen 0 to Gen " + std::to_string(input_.g - 1) + " were generated after it";
  text += ".\nA row is a vector of " + counted(input_.d, "component") + ". ";
  if (has_word_for_each_row())
    return text + name(static_cast<std::size_t>(input_.n) - 1) + " is the word of row " + last + ".";
  return text + (input_.text_len() == 1 ? "There is " : "There are ") + counted(input_.text_len(), "word") +
         ", not one for each row of the prompt, so rows go by number.";
}

std::string Reading::sum_in_words() const {
  std::int64_t without = 0;
  for (std::size_t row = 0; row < size(); ++row) {
    const double* const weights = weights_.data() + row * size();
    without += std::any_of(weights, weights + row + 1, [](double weight) { return std::isnan(weight); });
  }
  if (without == 0) return "1";
  return "1, but for " + counted(without, "row") + " of nan, whose numbers overflow";
}

Sight Reading::sight(std::size_t row, std::size_t key) const {
  if (tokens_[row].kind == TokenKind::padding || tokens_[key].kind == TokenKind::padding)
    return Sight::padding;
  return key > row ? Sight::later : Sight::seen;
}

std::vector<Look> Reading::looks(std::size_t row) const {
  std::vector<Look> all;
  for (std::size_t key = row + 1; key-- > 0;) {
    if (sight(row, key) == Sight::seen) all.push_back({key, weight(row, key)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Look& a, const Look& b) { return a.weight > b.weight; });
  return all;
}

}  // namespace rapt::cli
