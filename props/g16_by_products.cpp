// G16: asking for weights, scores or lse changes no bit of out.
#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G16 asking for weights, scores or lse changes no bit of out, nor of each other") {
  property("every subset of the by-products", [] {
    const Data data = make_data(*problems());
    for_each_isa([&](const Isa& isa) {
      const Answer all = run(data, all_outputs);
      for (int subset = 0; subset < 7; ++subset) {
        const Call call{.weights = (subset & 1) != 0, .scores = (subset & 2) != 0, .lse = (subset & 4) != 0};
        require_same(isa, data, difference(all, run(data, call)));
      }
    });
  });
}
