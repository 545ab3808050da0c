// rapt generate: a valid input of the staged program, from whole numbers only, so that a seed gives the same
// bytes on every machine.
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>

#include "commands.hpp"
#include "generate.hpp"
#include "streams.hpp"

namespace rapt::cli {
namespace {

/// xoshiro256** seeded by splitmix64 (Blackman and Vigna, Scrambled linear pseudorandom number generators,
/// 2021).
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      std::uint64_t z = seed += 0x9E3779B97F4A7C15;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
      word = z ^ (z >> 31);
    }
  }
  std::uint64_t next() {
    const auto rotate = [](std::uint64_t x, int by) { return x << by | x >> (64 - by); };
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }
  /// From -limit to limit.
  std::int64_t symmetric(std::int64_t limit) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(2 * limit + 1)) - limit;
  }
  /// True with the given probability.
  bool chance(double probability) { return static_cast<double>(next() >> 11) < probability * 0x1p53; }

 private:
  std::array<std::uint64_t, 4> state_;
};

/// Text on its way out, a chunk at a time.
class Text {
 public:
  explicit Text(const std::function<void(std::string_view)>& write) : write_(write) {}
  void add(std::string_view text) {
    text_ += text;
    if (text_.size() > chunk) flush();
  }
  /// units / 10^decimals.
  void add_number(std::int64_t units, int decimals) {
    if (units < 0) text_ += '-';
    std::string digits = std::to_string(units < 0 ? -units : units);
    const auto after_point = static_cast<std::size_t>(decimals);
    if (digits.size() <= after_point) digits.insert(0, after_point + 1 - digits.size(), '0');
    if (decimals > 0) digits.insert(digits.size() - after_point, 1, '.');
    add(digits);
  }
  void flush() {
    write_(text_);
    text_.clear();
  }

 private:
  static constexpr std::size_t chunk = 64 * 1024;
  const std::function<void(std::string_view)>& write_;
  std::string text_;
};

std::vector<std::string> words_of(const GenerateOptions& options, Random& random) {
  static constexpr const char* known[] = {
      "a",    "all",  "and",   "attention", "be",    "cache", "can",    "each", "every", "first",
      "from", "head", "in",    "is",        "it",    "key",   "look",   "made", "new",   "of",
      "old",  "one",  "or",    "past",      "query", "row",   "see",    "so",   "sum",   "that",
      "the",  "to",   "token", "too",       "two",   "value", "weight", "with", "word",  "work"};
  std::vector<std::string> words = split(options.text);
  if (!words.empty()) return words;
  for (std::int64_t i = 0; i < options.text_len; ++i)
    words.emplace_back(known[random.next() % std::size(known)]);
  return words;
}

/// What fills the matrices, in units of the last decimal.
class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual std::int64_t row(std::int64_t position, std::int64_t column) = 0;
  enum class Weight { q, k, v };
  virtual std::int64_t weight(Weight which, std::int64_t row, std::int64_t column) = 0;
};

class RandomNumbers final : public Numbers {
 public:
  RandomNumbers(Random& random, std::int64_t one) : random_(random), one_(one) {}
  std::int64_t row(std::int64_t, std::int64_t) override { return random_.symmetric(one_); }
  std::int64_t weight(Weight, std::int64_t, std::int64_t) override { return random_.symmetric(one_); }

 private:
  Random& random_;
  std::int64_t one_;
};

/// Rows that can be read: column 0 is 1, then one-hot regions for the length of the word, the word itself and
/// the word before it, then small numbers that grow with the position. The weights pass each region on by its
/// own factor, with small leaks inside it, so that attention goes to the same word first, then to words as
/// long, a little to those with the same neighbour.
class StructuredNumbers final : public Numbers {
 public:
  static constexpr std::int64_t least_d = 8;

  StructuredNumbers(Random& random, std::int64_t one, std::int64_t d, const std::vector<std::string>& words)
      : random_(random), one_(one), words_(words) {
    const std::int64_t groups = d / 8, identities = d / 4, places = std::max<std::int64_t>(1, d / 16);
    ends_ = {1, 1 + groups, 1 + groups + identities, d - places, d};
    std::map<std::string, std::int64_t> known;
    for (const std::string& word : words)
      identities_.push_back(known.try_emplace(word, std::ssize(known)).first->second);
  }

  std::int64_t row(std::int64_t position, std::int64_t column) override {
    const auto at = [this](std::int64_t p) { return static_cast<std::size_t>(p % std::ssize(words_)); };
    switch (region(column)) {
      case constant:
        return one_;
      case group:
        return hot(group, (std::ssize(words_[at(position)]) - 1) / 3, column);
      case identity:
        return hot(identity, identities_[at(position)], column);
      case before:
        return position == 0 ? 0 : hot(before, identities_[at(position - 1)], column);
      default: {
        // In two parts, whose products fit where one_ times all the hundredths does not.
        const std::int64_t hundredths = position % 100 * (column - begin(place) + 1);
        return hundredths / 100 * one_ + hundredths % 100 * one_ / 100;
      }
    }
  }

  std::int64_t weight(Weight which, std::int64_t row, std::int64_t column) override {
    const int from = region(row);
    if (from != region(column)) return 0;
    if (row != column) return random_.symmetric(one_ / 20);
    static constexpr std::array<int, 5> sharpness{1, 2, 4, 1, 0};
    return which == Weight::v ? one_ : one_ * sharpness[static_cast<std::size_t>(from)];
  }

 private:
  enum Region { constant, group, identity, before, place };

  int region(std::int64_t column) const {
    int region = 0;
    while (column >= ends_[static_cast<std::size_t>(region)]) ++region;
    return region;
  }
  std::int64_t begin(int region) const {
    return region == 0 ? 0 : ends_[static_cast<std::size_t>(region) - 1];
  }
  std::int64_t hot(int region, std::int64_t which, std::int64_t column) const {
    const std::int64_t width = ends_[static_cast<std::size_t>(region)] - begin(region);
    return column - begin(region) == which % width ? one_ : 0;
  }

  Random& random_;
  std::int64_t one_;
  std::array<std::int64_t, 5> ends_;  // of the regions, in order
  const std::vector<std::string>& words_;
  std::vector<std::int64_t> identities_;
};

template <class Cell>
void add_rows(Text& text, std::int64_t rows, std::int64_t columns, int decimals, const Cell& cell) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (j > 0) text.add(" ");
      text.add_number(cell(i, j), decimals);
    }
    text.add("\n");
  }
}

}  // namespace

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  const char* const blanks = " \t\n\v\f\r";
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string::npos;) {
    const std::size_t end = text.find_first_of(blanks, at);
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return words;
}

void generate(const GenerateOptions& options, const std::function<void(std::string_view)>& write) {
  Random random(options.seed);
  const std::vector<std::string> words = words_of(options, random);
  for (const std::string& word : words) {
    if (word.size() > 20)
      throw CLI::ValidationError("--text", "the word '" + word + "' has more than 20 bytes");
  }
  if (options.structured && options.d < StructuredNumbers::least_d) {
    throw CLI::ValidationError("--structured",
                               "needs --d of at least " + std::to_string(StructuredNumbers::least_d));
  }
  std::int64_t one = 1;
  for (int i = 0; i < options.decimals; ++i) one *= 10;
  std::unique_ptr<Numbers> numbers;
  if (options.structured) {
    numbers = std::make_unique<StructuredNumbers>(random, one, options.d, words);
  } else {
    numbers = std::make_unique<RandomNumbers>(random, one);
  }

  const std::int64_t n = options.n, d = options.d, g = options.g;
  Text text(write);
  text.add(std::to_string(n) + " " + std::to_string(d) + " " + std::to_string(g) + " " +
           std::to_string(words.size()) + "\n");
  for (std::size_t i = 0; i < words.size(); ++i) text.add((i > 0 ? " " : "") + words[i]);
  text.add("\n");
  for (std::int64_t i = 0; i < n; ++i)
    text.add(std::string(i > 0 ? " " : "") + (random.chance(options.mask_rate) ? "0" : "1"));
  text.add("\n");
  add_rows(text, n, d, options.decimals, [&](std::int64_t i, std::int64_t j) { return numbers->row(i, j); });
  add_rows(text, g, d, options.decimals,
           [&](std::int64_t i, std::int64_t j) { return numbers->row(n + i, j); });
  for (const auto which : {Numbers::Weight::q, Numbers::Weight::k, Numbers::Weight::v}) {
    add_rows(text, d, d, options.decimals,
             [&](std::int64_t i, std::int64_t j) { return numbers->weight(which, i, j); });
  }
  text.flush();
}

void add_generate(CLI::App& app) {
  const auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Write a valid input of the staged program");
  const auto size = [&](const char* name, std::int64_t& value, std::int64_t least, const char* help) {
    return command->add_option(name, value, help)
        ->check(in_range(least, std::int64_t{2147483647}))
        ->type_name("N");
  };
  CLI::Option* n = size("--n", options->n, 1, "Prompt rows (default 8; with --text, one for each word)");
  size("--d", options->d, 1, "Components of a row (default 16)");
  size("--g", options->g, 0, "Generated rows (default 4)");
  CLI::Option* text_len =
      size("--text-len", options->text_len, 1, "Words (default: one for each prompt row)");
  command->add_option("--seed", options->seed, "Of the random numbers (default 1)")
      ->check(in_range(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N");
  command
      ->add_option("--mask-rate", options->mask_rate,
                   "Share of prompt rows that are padding, 0 to 1 (default 0)")
      ->check(in_range(0.0, 1.0))
      ->type_name("P");
  command->add_option("--decimals", options->decimals, "Decimals of every number, 0 to 15 (default 2)")
      ->check(in_range(0, 15))
      ->type_name("N");
  command->add_flag("--structured", options->structured,
                    "Readable one-hot regions in place of random numbers");
  command->add_option("--text", options->text, "Words to use, separated by blanks")
      ->check([](const std::string& text) { return split(text).empty() ? "holds no word" : ""; })
      ->type_name("TEXT")
      ->excludes(text_len);
  add_manual(*command, "",
             {"rapt generate --n 12 --d 16 --g 4 --mask-rate 0.2 > input.txt",
              "rapt generate --structured --text 'the cat saw the other cat' | rapt explain"});
  command->callback([=] {
    const std::int64_t words = std::ssize(split(options->text));
    if (n->count() == 0 && words > 0) options->n = words;
    if (text_len->count() == 0) options->text_len = options->n;
    generate(*options, write_output);
  });
}

}  // namespace rapt::cli
