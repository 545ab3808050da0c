// G15: lse is the log of the sum of exponentials; merge has the identity (0, -inf) and equals one pass within
// a bound.
#include <algorithm>
#include <cmath>
#include <limits>

#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The keys at index `cut` and on, or those before, hidden by attend.
Data part(const Data& data, std::ptrdiff_t cut, bool first) {
  Data result = data;
  Array<4> attend({data.q.extents[0], data.q.extents[1], data.q.extents[2], data.k.extents[2]});
  for_each_row(data, [&](std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i) {
    for (std::ptrdiff_t j = 0; j < data.k.extents[2]; ++j) {
      attend(b, h, i, j) = (j < cut) == first && (!data.attend || broadcast(*data.attend, {b, h, i, j}) != 0);
    }
  });
  result.attend = attend;
  return result;
}

// Bounds of merge: each part's out and lse err by theirs; w = exp(lse - m) of at most 1 errs by those of lse,
// the subtraction and 2 ulp of exp; out by two products, two sums and a division; lse by a logarithm of at
// most log 2 and a sum.
struct MergeBound {
  long double out, lse;
};
MergeBound merge_bound(const Bounds& a, const Bounds& b, std::size_t at, std::size_t row, long double u) {
  if (a.seen[row] == 0) return {b.out_error[at], b.lse_error[row]};
  if (b.seen[row] == 0) return {a.out_error[at], a.lse_error[row]};
  const long double lses = a.lse_error[row] + b.lse_error[row], apart = std::abs(a.lse[row] - b.lse[row]);
  // A part that is far behind weighs exp(-apart): its rounding u * apart is below u / e of the whole.
  const long double weight = std::expm1(std::min(40.0L, 1.01L * (lses + u * std::min(apart, 2.0L) + 4 * u)));
  const long double reach =
      std::max(std::abs(a.out[at]), std::abs(b.out[at])) + std::max(a.out_error[at], b.out_error[at]);
  const long double tiny = u < 1e-10L ? 0x1p-1022L : 0x1p-126L;
  return {std::max(a.out_error[at], b.out_error[at]) + (2 * weight + 6 * u) * reach + tiny,
          1.01L * lses + 6 * u + 3 * u * std::max(std::abs(a.lse[row]), std::abs(b.lse[row]))};
}

}  // namespace

TEST_CASE("G15 lse is the log of the sum of exponentials") {
  property("within its bound of long double", [] {
    const Data data = make_data(*problems(100'000));
    for_each_isa([&](const Isa& isa) {
      Answer answer = run(data, {.lse = true});
      require_within(isa, data, "out and lse", worst_fraction_of_bound(data, answer, isa.has_fma));
    });
  });
}

TEST_CASE("G15 merge of two parts of the keys equals one pass within the bound") {
  property("keys cut in two at any place", [] {
    const Data data = make_data(*problems(100'000));
    const std::ptrdiff_t cut = *lengths(data.k.extents[2]);
    const Data first = part(data, cut, true), second = part(data, cut, false);
    const long double u = static_cast<long double>(unit_roundoff(data.problem.dtype));
    for_each_isa([&](const Isa& isa) {
      const Answer a = run(first, {.lse = true}), b = run(second, {.lse = true});
      const Answer merged = merge_answers(data.problem.dtype, a, b);
      const Bounds whole = out_bounds(data, isa.has_fma), bound_a = out_bounds(first, isa.has_fma);
      const Bounds bound_b = out_bounds(second, isa.has_fma);
      const auto v_dim = static_cast<std::size_t>(data.v.extents[3]);
      for (std::size_t at = 0; at < merged.out.values.size(); ++at) {
        const std::size_t row = at / v_dim;
        const MergeBound bound = merge_bound(bound_a, bound_b, at, row, u);
        const long double out = std::abs(static_cast<long double>(merged.out.values[at]) - whole.out[at]);
        const auto lse = static_cast<long double>(merged.lse->values[row]);
        if (out != 0) require_within(isa, data, "merged out", static_cast<double>(out / bound.out));
        if (lse != whole.lse[row]) {
          require_within(isa, data, "merged lse",
                         static_cast<double>(std::abs(lse - whole.lse[row]) / bound.lse));
        }
      }
    });
  });
}

TEST_CASE("G15 merge has the identity (0, -inf), whatever the ignored part holds") {
  property("both orders, bit for bit", [] {
    const Data data = make_data(*problems());
    const double ignored = *rc::gen::element(0.0, 7.0, infinity, std::numeric_limits<double>::quiet_NaN());
    for_each_isa([&](const Isa& isa) {
      const Answer answer = run(data, {.lse = true});
      Answer empty = answer;
      std::fill(empty.out.values.begin(), empty.out.values.end(), ignored);
      std::fill(empty.lse->values.begin(), empty.lse->values.end(), -infinity);
      for (const Answer& merged : {merge_answers(data.problem.dtype, answer, empty),
                                   merge_answers(data.problem.dtype, empty, answer)}) {
        for (std::size_t row = 0; row < answer.lse->values.size(); ++row) {
          if (answer.lse->values[row] == -infinity) continue;  // two empty parts: the next property
          require_same(isa, data, difference("lse", *answer.lse, *merged.lse));
        }
        Answer seen = merged, expected = answer;
        const auto v_dim = static_cast<std::size_t>(data.v.extents[3]);
        for (std::size_t at = 0; at < seen.out.values.size(); ++at) {
          if (answer.lse->values[at / v_dim] == -infinity) seen.out.values[at] = expected.out.values[at];
        }
        require_same(isa, data, difference("out", expected.out, seen.out));
      }
      const Answer none = merge_answers(data.problem.dtype, empty, empty);
      for (const double out : none.out.values) {
        if (out != 0 || std::signbit(out))
          require_same(isa, data, "two empty parts give " + std::to_string(out));
      }
      require_same(isa, data, difference("lse of two empty parts", *empty.lse, *none.lse));
    });
  });
}
