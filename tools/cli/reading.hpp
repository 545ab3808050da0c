// The attention weights of a staged input, read token by token: who a token is, what it may look at, and how
// much it does.
#pragma once

#include <rapt/pipeline.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace rapt::cli {

enum class TokenKind { prompt, padding, generated };

/// Why a key has no weight in a row, if it has none.
enum class Sight { seen, padding, later };

struct Token {
  std::string label;  // its word; "row 3" where words are not one for each prompt row; "Gen 0"; can be shown
  TokenKind kind;
};

/// A key and its weight.
struct Look {
  std::size_t key;
  double weight;
};

/// An input, what its stages hold, and attention among all its n + g rows: prompt first, then generated.
class Reading {
 public:
  explicit Reading(pipeline::Input input);

  const pipeline::Input& input() const noexcept { return input_; }
  const pipeline::Result& result() const noexcept { return result_; }

  std::size_t size() const noexcept { return tokens_.size(); }
  const Token& token(std::size_t row) const { return tokens_[row]; }
  /// The token as another one speaks of it: "cat[1]" with its row, "row 3" or "Gen 0".
  std::string name(std::size_t row) const;
  /// What the rows are, in three sentences on two lines.
  std::string summary() const;
  bool has_word_for_each_row() const noexcept { return input_.text_len() == input_.n; }
  Sight sight(std::size_t row, std::size_t key) const;
  double weight(std::size_t row, std::size_t key) const { return weights_[row * size() + key]; }

  /// What rows of weights sum to, for a sentence: 1, and which have no sum.
  std::string sum_in_words() const;

  /// Every key that the row sees, the greatest weight first, and the nearer key first among equals.
  std::vector<Look> looks(std::size_t row) const;
  std::size_t padding() const noexcept { return padding_; }

 private:
  pipeline::Input input_;
  pipeline::Result result_;
  std::vector<Token> tokens_;
  std::vector<double> weights_;  // [n + g, n + g]
  std::size_t padding_ = 0;
};

}  // namespace rapt::cli
