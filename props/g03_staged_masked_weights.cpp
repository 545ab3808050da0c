// G03 for the staged program: what a row may not see has weight exactly 0, and the score -inf.
#include <cmath>

#include "property.hpp"
#include "support/isas.hpp"
#include "support/staged_gen.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G03 weights of the staged program above the diagonal and at masked keys are exactly 0") {
  property("on every ISA", [] {
    const pipeline::Input input = make_input(*gen::staged_problem());
    const auto real = [&](std::ptrdiff_t i) { return input.mask[static_cast<std::size_t>(i)] != 0; };
    for_each_isa([&](const Isa&) {
      const pipeline::Result result = pipeline::run(input);
      for (std::ptrdiff_t i = 0; i < input.n; ++i) {
        for (std::ptrdiff_t j = 0; j < input.n; ++j) {
          const double weight = result.weights[static_cast<std::size_t>(i * input.n + j)];
          const double score = result.scores[static_cast<std::size_t>(i * input.n + j)];
          if (j > i || !real(i) || !real(j)) {
            RC_ASSERT(weight == 0 && !std::signbit(weight));
            RC_ASSERT(std::isinf(score) && score < 0);
          } else {
            RC_ASSERT(weight >= 0 && weight <= 1);
            RC_ASSERT(std::isfinite(score));
          }
        }
      }
    });
  });
}
