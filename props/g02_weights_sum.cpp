// G02: every row of weights sums to 1, or is exactly 0 when it sees no key.
#include <cmath>

#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// Each weight is divided once; the sum they are divided by adds 256 / lanes values of a lane, folds the lanes
// by halves, and folds the blocks. A weight may lose 2^EMIN to underflow.
double sum_bound(const Data& data, std::ptrdiff_t seen) {
  const bool f64 = data.problem.dtype == Dtype::f64;
  const auto n = static_cast<double>(seen);
  const double additions =
      std::min(n, f64 ? 35.0 : 20.0) + std::min(n, static_cast<double>(data.k.extents[2]) / 256 + 1);
  return 1.01 * unit_roundoff(data.problem.dtype) * (additions + 1) + n * (f64 ? 0x1p-1022 : 0x1p-126);
}

}  // namespace

TEST_CASE("G02 every row of weights sums to 1, or is exactly 0 when it sees no key") {
  property("sum of weights", [] {
    const Data data = make_data(*problems());
    const Array<4> visible = visible_pairs(data);
    for_each_isa([&](const Isa& isa) {
      const Answer answer = run(data, {.weights = true});
      for_each_row(data, [&](std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i) {
        long double sum = 0;
        std::ptrdiff_t seen = 0;
        for (std::ptrdiff_t j = 0; j < data.k.extents[2]; ++j) {
          const double weight = (*answer.weights)(b, h, i, j);
          if (!(weight >= 0 && weight <= 1)) require_same(isa, data, "a weight is " + std::to_string(weight));
          sum += static_cast<long double>(weight);
          seen += visible(b, h, i, j) != 0 ? 1 : 0;
        }
        const auto error = static_cast<double>(std::abs(sum - (seen == 0 ? 0 : 1)));
        if (seen <= 1 && error != 0)
          require_same(isa, data, "an empty row, or that of one key, is not exact");
        if (error != 0) require_within(isa, data, "sum of weights", error / sum_bound(data, seen));
      });
    });
  });
}
