// G20: ISAs with FMA agree with each other; one without agrees within the derived bound.
#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G20 ISAs with FMA give the same bits, one without is within the bound") {
  property("every runnable ISA", [] {
    const Data data = make_data(*problems(150'000));
    std::optional<Answer> first;
    for_each_isa([&](const Isa& isa) {
      const Answer answer = run(data, all_outputs);
      require_within(isa, data, "error", worst_fraction_of_bound(data, answer, isa.has_fma));
      if (!isa.has_fma) return;
      if (first) require_same(isa, data, difference(*first, answer));
      if (!first) first = answer;
    });
  });
}
