// G19: textbook arithmetic gives the bits of the plain loops, on every ISA and with any number of threads.
#include "property.hpp"
#include "support/isas.hpp"
#include "support/staged_gen.hpp"
#include "support/threads.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

void equals_loops(const StagedProblem& problem) {
  const pipeline::Input input = make_input(problem);
  const reference::StagedResult expected = reference::staged(to_reference(input));
  for_each_isa([&](const Isa& isa) {
    for (const int threads : {1, 2}) {
      std::string found;
      with_threads(threads, [&] { found = difference(pipeline::run(input), expected); });
      if (!found.empty()) RC_FAIL(std::string(isa.table->name) + ": " + found);
    }
  });
}

}  // namespace

TEST_CASE("G19 the staged program in textbook arithmetic equals the plain loops bit for bit") {
  property("within the limits", [] { equals_loops(*gen::staged_problem()); });
}

TEST_CASE("G19 it does so where the work is shared among threads") {
  equals_loops({210, 40, 30, 3, Numbers::three_decimals, 5, 1});
  property("beyond the limits", [] {
    const auto problem = *gen::staged_problem();
    if (problem.seed % 10 != 0) return;  // these are large: one in ten
    auto large = problem;
    large.n += 180;
    equals_loops(large);
  });
}

TEST_CASE("G19 it does so across the blocks of 256 keys in which the cache holds them") {
  property("sequences that end around one and two blocks", [] {
    const int length = *rc::gen::element(255, 256, 257, 271, 272, 273, 511, 512, 513, 530);
    const int g = *rc::gen::inRange(0, 40);
    equals_loops({length - g, *rc::gen::inRange(1, 20), g, 3, Numbers::three_decimals,
                  *rc::gen::element(0, 0, 20), *rc::gen::inRange<std::uint64_t>(0, 1000)});
  });
}
