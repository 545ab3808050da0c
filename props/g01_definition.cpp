// G01: attention() is its scalar definition, bit by bit, and the definition is within a derived bound of
// exact arithmetic.
#include <cmath>

#include "generators.hpp"
#include "support/fill.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G01 attention equals the scalar definition on every ISA with FMA") {
  rc::prop("same bits of out, weights, scores, lse and the same report", [] {
    const Data data = make_data(*problems());
    const Answer expected = define(data, all_outputs);
    for_each_isa([&](const Isa& isa) {
      if (!isa.has_fma) return;
      // A call that asks for nothing more takes the shortest path.
      require_same(isa, data, difference(expected, run(data, all_outputs)));
      require_same(isa, data, difference(expected, run(data, {.weights = true})));
      require_same(isa, data, difference(expected, run(data)));
    });
  });
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
    Data data = make_data(*problems());
    const std::uint64_t seed = *rc::gen::inRange<std::uint64_t>(0, 1000),
                        once_in = *rc::gen::element(5U, 50U, 1000U);
    const bool f64 = data.problem.dtype == Dtype::f64;
    const double huge = f64 ? 0x1p1000 : 0x1p120, tiny = f64 ? 0x1p-1070 : 0x1p-145;
    const double specials[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0, tiny,
                               -tiny,        huge,     -huge,     1e9, -1e9};
    const auto plant = [&](std::vector<double>& values, Dtype dtype, std::uint64_t stream) {
      for (std::size_t at = 0; at < values.size(); ++at) {
        const std::uint64_t draw = random_bits(seed, stream, at);
        if (draw % once_in == 0) values[at] = rounded_to(dtype, specials[(draw >> 20) % std::size(specials)]);
      }
    };
    const Dtype arithmetic = f64 ? Dtype::f64 : Dtype::f32;
    plant(data.q.values, arithmetic, 400);
    plant(data.k.values, data.problem.dtype, 401);
    plant(data.v.values, data.problem.dtype, 402);
    if (data.bias) plant(data.bias->values, arithmetic, 403);
    const Answer expected = define(data, all_outputs);
    for_each_isa([&](const Isa& isa) {
      if (!isa.has_fma) return;
      // A call that asks for nothing more takes the shortest path.
      require_same(isa, data, difference(expected, run(data, all_outputs)));
      require_same(isa, data, difference(expected, run(data, {.weights = true})));
      require_same(isa, data, difference(expected, run(data)));
    });
  });
}
