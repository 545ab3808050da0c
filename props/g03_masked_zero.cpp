// G03: weights above the diagonal and at masked keys are exactly 0, their scores -inf, and nowhere else.
#include <cmath>

#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G03 weights at keys that a row does not see are exactly 0") {
  property("+0 and -inf where the predicate says so", [] {
    const Data data = make_data(*problems());
    const Array<4> visible = visible_pairs(data);
    for_each_isa([&](const Isa& isa) {
      const Answer answer = run(data, {.weights = true, .scores = true});
      for (std::size_t at = 0; at < visible.values.size(); ++at) {
        const double weight = answer.weights->values[at], score = answer.scores->values[at];
        const bool hidden_score = std::isinf(score) && score < 0;
        if (hidden_score != (visible.values[at] == 0)) require_same(isa, data, "score " + std::to_string(at));
        if (hidden_score && (weight != 0 || std::signbit(weight)))
          require_same(isa, data, "weight " + std::to_string(at));
      }
    });
  });
}
