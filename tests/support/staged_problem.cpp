#include "support/staged_problem.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <random>

namespace rapt::test {
namespace {

double number(Numbers kind, std::mt19937_64& random) {
  const auto within = [&](int limit) {
    return static_cast<double>(random() % static_cast<unsigned>(2 * limit + 1)) - limit;
  };
  switch (kind) {
    case Numbers::one_decimal:
      return within(20) / 10;
    case Numbers::two_decimals:
      return within(200) / 100;
    case Numbers::three_decimals:
      return within(2000) / 1000;
    case Numbers::integers:
      return within(3);
    case Numbers::wide:
      return within(999) / 100 * std::pow(10.0, within(5));
    case Numbers::ties:
      return within(32) / 16;
    case Numbers::any:
      break;
  }
  return std::ldexp(static_cast<double>(static_cast<std::int64_t>(random()) >> 11),
                    static_cast<int>(random() % 70) - 90);
}

std::vector<double> matrix(Numbers kind, int rows, int columns, std::mt19937_64& random) {
  std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (double& value : values) value = number(kind, random);
  return values;
}

std::string first_difference(const char* name, const std::vector<double>& ours,
                             const std::vector<double>& expected) {
  if (ours.size() != expected.size()) return std::string(name) + ": sizes differ";
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (std::isnan(ours[i]) && std::isnan(expected[i])) continue;
    if (std::bit_cast<std::uint64_t>(ours[i]) == std::bit_cast<std::uint64_t>(expected[i])) continue;
    char text[200];
    std::snprintf(text, sizeof text, "%s, element %zu: %.17g, expected %.17g", name, i, ours[i], expected[i]);
    return text;
  }
  return "";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const StagedProblem& problem) {
  return out << "n" << problem.n << "_d" << problem.d << "_g" << problem.g << "_words" << problem.text_len
             << "_numbers" << static_cast<int>(problem.numbers) << "_masked" << problem.masked_percent
             << "_seed" << problem.seed;
}

StagedProblem random_problem(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto size = [&](int least, int most) {
    const auto draw = random() % 8;
    if (draw == 0) return least;
    if (draw == 1) return most;
    return least +
           static_cast<int>(random() % static_cast<unsigned>(draw < 5 ? most - least + 1
                                                                      : std::min(most - least + 1, 12)));
  };
  static constexpr int masked[] = {0, 0, 10, 30, 70, 100};
  return {.n = size(1, 64),
          .d = size(1, 64),
          .g = size(0, 32),
          .text_len = size(1, 64),
          .numbers = static_cast<Numbers>(random() % numbers_kinds),
          .masked_percent = masked[random() % std::size(masked)],
          .seed = random() % 1000000};
}

pipeline::Input make_input(const StagedProblem& problem) {
  std::mt19937_64 random(problem.seed);
  pipeline::Input input;
  input.n = problem.n;
  input.d = problem.d;
  input.g = problem.g;
  for (int i = 0; i < problem.text_len; ++i) {
    std::string word(1 + random() % 20, ' ');
    // Few letters make words that repeat; any byte but the blanks and NUL may stand in one.
    for (char& c : word) c = static_cast<char>(random() % 4 == 0 ? 33 + random() % 223 : 'a' + random() % 2);
    if (random() % 2 == 0) word.resize(1);
    input.words.push_back(word);
  }
  for (int i = 0; i < problem.n; ++i)
    input.mask.push_back(static_cast<int>(random() % 100) >= problem.masked_percent);
  input.prompt = matrix(problem.numbers, problem.n, problem.d, random);
  input.generated = matrix(problem.numbers, problem.g, problem.d, random);
  input.wq = matrix(problem.numbers, problem.d, problem.d, random);
  input.wk = matrix(problem.numbers, problem.d, problem.d, random);
  input.wv = matrix(problem.numbers, problem.d, problem.d, random);
  return input;
}

std::string to_text(const pipeline::Input& input) {
  std::string text = std::to_string(input.n) + " " + std::to_string(input.d) + " " + std::to_string(input.g) +
                     " " + std::to_string(input.words.size()) + "\n";
  for (const std::string& word : input.words) text += word + " ";
  text += "\n";
  for (const unsigned char real : input.mask) text += real != 0 ? "1 " : "0 ";
  text += "\n";
  for (const std::vector<double>* values :
       {&input.prompt, &input.generated, &input.wq, &input.wk, &input.wv}) {
    for (const double value : *values) {
      char number[40];
      // The shorter form when it is exact, as a person would write it.
      std::snprintf(number, sizeof number, "%.4g", value);
      if (std::strtod(number, nullptr) != value) std::snprintf(number, sizeof number, "%.17g", value);
      text += number;
      text += " ";
    }
    text += "\n";
  }
  return text;
}

reference::StagedInput to_reference(const pipeline::Input& input) {
  return {static_cast<int>(input.n),
          static_cast<int>(input.d),
          static_cast<int>(input.g),
          input.words,
          input.mask,
          input.prompt,
          input.generated,
          input.wq,
          input.wk,
          input.wv};
}

std::string difference(const pipeline::Result& result, const reference::StagedResult& expected) {
  if (result.vocabulary != expected.vocabulary) return "vocabulary";
  if (!std::equal(result.dot_products.begin(), result.dot_products.end(), expected.dot_products.begin(),
                  expected.dot_products.end())) {
    return "dot_products";
  }
  for (const std::string& found :
       {first_difference("q", result.q, expected.q), first_difference("k", result.k, expected.k),
        first_difference("v", result.v, expected.v),
        first_difference("scores", result.scores, expected.scores),
        first_difference("weights", result.weights, expected.weights),
        first_difference("output", result.output, expected.output),
        first_difference("generated", result.generated, expected.generated)}) {
    if (!found.empty()) return found;
  }
  return "";
}

std::string printed(const pipeline::Input& input, const pipeline::Result& result) {
  std::string text;
  const auto sink = [&](std::string_view chunk) { return text += chunk, true; };
  static_cast<void>(pipeline::print(input, result, sink));  // this sink cannot fail
  return text;
}

}  // namespace rapt::test
