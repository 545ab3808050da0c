// G19: textbook arithmetic gives the bits of the plain loops, on every ISA and with any number of threads.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

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
  rc::prop("within the limits", [] { equals_loops(*gen::staged_problem()); });
}

TEST_CASE("G19 it does so where the work is shared among threads") {
  equals_loops({210, 40, 30, 3, Numbers::three_decimals, 5, 1});
  rc::prop("beyond the limits", [] {
    const auto problem = *gen::staged_problem();
    if (problem.seed % 10 != 0) return;  // these are large: one in ten
    auto large = problem;
    large.n += 180;
    equals_loops(large);
  });
}
