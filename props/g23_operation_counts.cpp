// G23: the operations of each stage are those of the formulas, counted pair by pair, and grow as n, d, g and
// text_len predict.
#include <cmath>
#include <set>

#include "property.hpp"
#include "support/staged_gen.hpp"

using namespace rapt;
using namespace rapt::test;
using pipeline::operations;

namespace {

/// The loops of the staged program with counters in place of the arithmetic.
pipeline::Operations counted(const pipeline::Input& input) {
  pipeline::Operations count{};
  const auto real = [&](std::ptrdiff_t j) {
    return j >= input.n || input.mask[static_cast<std::size_t>(j)] != 0;
  };
  const std::set<std::string> words(input.words.begin(), input.words.end());
  for (std::size_t i = 0; i < words.size(); ++i) count.one_hot_cells += std::ssize(words);
  for (std::ptrdiff_t i = 0; i < input.n; ++i) {
    for (std::ptrdiff_t j = 0; j < input.d; ++j) count.projection += 3 * input.d;
    for (std::ptrdiff_t j = 0; j <= i; ++j) {
      if (!real(i) || !real(j)) continue;
      count.scores += input.d;
      count.exponentials += 1;
      count.output += input.d;
    }
  }
  for (std::ptrdiff_t t = 0; t < input.g; ++t) {
    for (std::ptrdiff_t j = 0; j < input.d; ++j) count.generation += 3 * input.d;
    for (std::ptrdiff_t j = 0; j <= input.n + t; ++j) count.generation += real(j) ? 2 * input.d : 0;
  }
  return count;
}

pipeline::Input input_of(int n, int d, int g, int text_len, std::uint64_t seed) {
  return make_input({n, d, g, text_len, Numbers::integers, 0, seed});
}

}  // namespace

TEST_CASE("G23 operation counts are those of the loops") {
  property("for every input", [] {
    const pipeline::Input input = make_input(*gen::staged_problem());
    const pipeline::Operations ours = operations(input), loops = counted(input);
    RC_ASSERT(ours.one_hot_cells == loops.one_hot_cells);
    RC_ASSERT(ours.projection == loops.projection);
    RC_ASSERT(ours.scores == loops.scores);
    RC_ASSERT(ours.exponentials == loops.exponentials);
    RC_ASSERT(ours.output == loops.output);
    RC_ASSERT(ours.generation == loops.generation);
  });
}

TEST_CASE("G23 comparisons of the words grow as text_len log text_len") {
  property("between the least that sorting can do and the most that std::sort does", [] {
    const pipeline::Input input = make_input(*gen::staged_problem());
    const double words = static_cast<double>(input.text_len());
    const auto comparisons = static_cast<double>(operations(input).comparisons);
    // Every neighbour in the order was compared. std::sort partitions at most 2 log2 deep before it turns to
    // heaps, which take 2 log2 a word; runs of 16 are left to insertion, and finding equal words takes one.
    RC_ASSERT(comparisons >= words - 1);
    RC_ASSERT(comparisons <= words * (4 * std::log2(words) + 18));
  });
}

TEST_CASE("G23 doubling a size multiplies each count as its power predicts") {
  property("exactly, and in the limit for sums of a linear and a square term", [] {
    const int n = *rc::gen::inRange(1, 20), d = *rc::gen::inRange(1, 20), g = *rc::gen::inRange(0, 20);
    const auto once = operations(input_of(n, d, g, 4, 1));
    const auto twice_d = operations(input_of(n, 2 * d, g, 4, 1));
    RC_ASSERT(twice_d.projection == 4 * once.projection);  // n d^2
    RC_ASSERT(twice_d.scores == 2 * once.scores);          // n^2 d
    RC_ASSERT(twice_d.output == 2 * once.output);
    RC_ASSERT(twice_d.exponentials == once.exponentials);  // n^2
    const auto twice_n = operations(input_of(2 * n, d, g, 4, 1));
    RC_ASSERT(twice_n.projection == 2 * once.projection);
    RC_ASSERT(twice_n.exponentials == 4 * once.exponentials - n);  // 2n (2n + 1) / 2 against n (n + 1) / 2
    RC_ASSERT(twice_n.scores == 4 * once.scores - n * d);
    RC_ASSERT(twice_n.generation - once.generation ==
              2 * g * n * d);  // g (n + g) d: each row sees n keys more
    const auto twice_g = operations(input_of(n, d, 2 * g, 4, 1));
    RC_ASSERT(twice_g.generation == 2 * once.generation + 2 * g * g * d);
    const auto other_text = operations(input_of(n, d, g, 60, 1));
    RC_ASSERT(other_text.projection == once.projection &&
              other_text.scores == once.scores);  // stages 2 to 6 never see the words
  });
}
