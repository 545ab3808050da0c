// G13: each output component lies between the least and greatest visible V; a row that sees one key returns
// its V unchanged.
#include <algorithm>
#include <cmath>

#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// Numerator and denominator are sums of the same computed weights: each errs by its own additions only, which
// the bound of G01 calls `sum`; one rounding of the division, and underflow.
double slack(const Data& data, std::ptrdiff_t seen, double reach) {
  const auto n = static_cast<double>(seen);
  const double sum = std::min(n, 256.0) + 1 + std::min(n, static_cast<double>(data.k.extents[2]) / 256 + 1);
  const double tiny = data.problem.dtype == Dtype::f64 ? 0x1p-1022 : 0x1p-126;
  return 1.01 * unit_roundoff(data.problem.dtype) * (2 * sum + 1) * reach + 4 * tiny * n * (reach + 1);
}

void require_convex(const Isa& isa, const Data& data, const Array<4>& visible, const Answer& answer) {
  const std::ptrdiff_t group = data.q.extents[1] / data.k.extents[1];
  for_each_row(data, [&](std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i) {
    for (std::ptrdiff_t col = 0; col < data.v.extents[3]; ++col) {
      double least = HUGE_VAL, greatest = -HUGE_VAL, only = 0;
      std::ptrdiff_t seen = 0;
      for (std::ptrdiff_t j = 0; j < data.k.extents[2]; ++j) {
        if (visible(b, h, i, j) == 0) continue;
        only = data.v(b, h / group, j, col);
        least = std::min(least, only);
        greatest = std::max(greatest, only);
        ++seen;
      }
      const double out = answer.out(b, h, i, col);
      if (seen == 0 && (out != 0 || std::signbit(out)))
        require_same(isa, data, "a row without keys is not +0");
      if (seen == 1 && (out != only || std::signbit(out) != std::signbit(only)))
        require_same(isa, data, "one key, other V");
      if (seen < 2) continue;
      const double room = slack(data, seen, std::max(std::abs(least), std::abs(greatest)));
      if (!(out >= least - room && out <= greatest + room)) {
        require_same(isa, data,
                     "out " + std::to_string(out) + " not in " + std::to_string(least) + ".." +
                         std::to_string(greatest));
      }
    }
  });
}

}  // namespace

TEST_CASE(
    "G13 each component lies between the least and greatest visible V, and one visible key returns its V") {
  property("any problem", [] {
    const Data data = make_data(*problems());
    const Array<4> visible = visible_pairs(data);
    for_each_isa([&](const Isa& isa) { require_convex(isa, data, visible, run(data)); });
  });
  property("rows with a window of 1", [] {
    Problem problem = *problems();
    if (problem.causal == Causal::none) problem.causal = Causal::bottom_right;
    problem.window = 1;
    const Data data = make_data(problem);
    const Array<4> visible = visible_pairs(data);
    for_each_isa([&](const Isa& isa) { require_convex(isa, data, visible, run(data)); });
  });
}
