// G14: adding a constant to a row's scores changes nothing; scores of 1e3 to 1e30 do not overflow.
#include <algorithm>
#include <cmath>

#include "generators.hpp"
#include "support/fill.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// bias in multiples of 2^-8, so that adding an integer up to 1000 is exact in float.
Data with_exact_bias(Problem problem) {
  problem.bias = true;
  Data data = make_data(problem);
  for (double& bias : data.bias->values) bias = std::nearbyint(bias * 256) / 256;
  return data;
}

Data shifted(const Data& data, std::uint64_t seed) {
  Data result = data;
  const auto line = static_cast<std::size_t>(data.bias->extents[3]);
  for (std::size_t at = 0; at < result.bias->values.size(); ++at) {
    result.bias->values[at] += static_cast<double>(random_below(seed, 300, at / line, 2001)) - 1000;
  }
  return result;
}

}  // namespace

TEST_CASE("G14 adding a constant to a row's scores changes nothing beyond the bounds of both") {
  property("a constant up to 1000 in the bias of each row", [] {
    const Data data = with_exact_bias(*problems(100'000));
    const Data other = shifted(data, *rc::gen::inRange<std::uint64_t>(0, 1000));
    for_each_isa([&](const Isa& isa) {
      const Answer a = run(data), b = run(other);
      const Bounds bounds_a = out_bounds(data, isa.has_fma), bounds_b = out_bounds(other, isa.has_fma);
      for (std::size_t at = 0; at < a.out.values.size(); ++at) {
        const double error = std::abs(a.out.values[at] - b.out.values[at]);
        if (error == 0) continue;
        require_within(isa, data, "shift",
                       error / static_cast<double>(bounds_a.out_error[at] + bounds_b.out_error[at]));
      }
    });
  });
}

TEST_CASE("G14 scores of 1e3 to 1e30 do not overflow") {
  property("every out is finite and no larger than the largest V", [] {
    Problem problem = *problems();
    if (problem.dtype == Dtype::f16) problem.dtype = Dtype::f32;
    problem.scale = 1;
    const double score = std::pow(10.0, *rc::gen::inRange(3, 31));
    problem.magnitude = std::sqrt(score / static_cast<double>(problem.head_dim));
    const Data data = make_data(problem);
    for_each_isa([&](const Isa& isa) {
      const Answer answer = run(data, all_outputs);
      for (const double out : answer.out.values) {
        if (!(std::abs(out) <= 1.001)) require_same(isa, data, "out is " + std::to_string(out));
      }
      for (const double weight : answer.weights->values) {
        if (!(weight >= 0 && weight <= 1)) require_same(isa, data, "a weight is " + std::to_string(weight));
      }
      for (const double lse : answer.lse->values) {
        if (!(lse <= 1e31)) require_same(isa, data, "lse is " + std::to_string(lse));
      }
    });
  });
}
