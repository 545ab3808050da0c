// G01: attention() is its scalar definition, bit by bit, and the definition is within a derived bound of
// exact arithmetic.
#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// A call that asks for nothing more takes the shortest path.
void equals_definition(const Data& data) {
  const Answer expected = define(data, all_outputs);
  for_each_isa([&](const Isa& isa) {
    if (!isa.has_fma) return;
    for (const Call& call : {all_outputs, Call{.weights = true}, Call{}}) {
      require_same(isa, data, difference(expected, run(data, call)));
    }
  });
}

}  // namespace

TEST_CASE("G01 attention equals the scalar definition on every ISA with FMA") {
  rc::prop("same bits of out, weights, scores, lse and the same report",
           [] { equals_definition(make_data(*problems())); });
}

TEST_CASE("G01 the definition is within the derived bound of a long-double reference") {
  rc::prop("out, weights, scores and lse", [] {
    const Data data = make_data(*problems(100'000));
    const double fraction = worst_fraction_of_bound(data, define(data, all_outputs), true);
    if (!(fraction <= 1)) RC_FAIL(format(data.problem) + ": " + std::to_string(fraction) + " of the bound");
  });
}

TEST_CASE("G01 holds for NaN, infinities, zeros, subnormal and huge numbers too") {
  rc::prop("special values planted in q, k, v and bias", [] {
    Problem problem = *problems();
    problem.special = *rc::gen::element<std::uint64_t>(5, 50, 1000);
    equals_definition(make_data(problem));
  });
}
