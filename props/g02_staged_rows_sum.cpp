// G02 for the staged program: every row of weights sums to 1, or is exactly 0 when it sees no key.
#include <cmath>

#include "property.hpp"
#include "support/isas.hpp"
#include "support/staged_gen.hpp"

using namespace rapt;
using namespace rapt::test;

// With unit roundoff u, the computed sum of m exponentials is within (m - 1) u of the true one (all
// positive), each quotient adds u, and adding the m weights again m - 1 more: |sum - 1| <= (2 m - 1) u to
// first order; 2 m u covers the second.
TEST_CASE("G02 weights of the staged program sum to 1, or to exactly 0 in a row that sees no key") {
  property("on every ISA", [] {
    const pipeline::Input input = make_input(*gen::staged_problem());
    for_each_isa([&](const Isa&) {
      const pipeline::Result result = pipeline::run(input);
      for (std::ptrdiff_t i = 0; i < input.n; ++i) {
        const double* row = result.weights.data() + i * input.n;
        double sum = 0;
        for (std::ptrdiff_t j = 0; j < input.n; ++j) sum += row[j];
        if (input.mask[static_cast<std::size_t>(i)] == 0) {
          RC_ASSERT(std::all_of(row, row + input.n, [](double w) { return w == 0 && !std::signbit(w); }));
        } else {
          RC_ASSERT(std::fabs(sum - 1) <= 2 * static_cast<double>(i + 1) * 0x1p-53);
        }
      }
    });
  });
}
