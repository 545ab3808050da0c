// G01: attention() is its scalar definition, bit by bit, and the definition is within a derived bound of
// exact arithmetic.
#include "generators.hpp"
#include "kernels/kernel_table.hpp"
#include "support/kv_gen.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// A call that asks for nothing more takes the shortest path.
void equals_definition(const Data& data) {
  const Answer expected = define(data, all_outputs);
  for_each_isa([&](const Isa& isa) {
    if (!isa.has_fma) return;
    for (const Call& call : {all_outputs, Call{.weights = true}, Call{}}) {
      require_same(isa, data, difference(expected, run(data, call)));
    }
  });
}

/// Few rows of one KV head, over keys and values of about as many bytes as is_beyond() begins with, fewer and
/// more.
rc::Gen<Problem> few_rows_around(bool (*is_beyond)(double) noexcept, std::ptrdiff_t most_queries) {
  return rc::gen::exec([=] {
    Problem p = *cacheable_problems();
    p.batch = p.n_kv_heads = 1;
    p.n_heads = *rc::gen::element<std::ptrdiff_t>(1, 2, 4, 7, 12);
    p.head_dim = p.v_dim = *rc::gen::element<std::ptrdiff_t>(64, 67, 128);
    p.window.reset();
    p.q_len = *rc::gen::inRange<std::ptrdiff_t>(1, most_queries + 1);
    const std::ptrdiff_t element_bytes = p.dtype == Dtype::f64 ? 8 : p.dtype == Dtype::f32 ? 4 : 2;
    std::ptrdiff_t near_keys = 1;
    while (!is_beyond(static_cast<double>((near_keys + 1) * 2 * p.head_dim * element_bytes))) ++near_keys;
    p.kv_len = near_keys + *rc::gen::inRange<std::ptrdiff_t>(-20, 300);
    return p;
  });
}

}  // namespace

TEST_CASE("G01 attention equals the scalar definition on every ISA with FMA") {
  property("same bits of out, weights, scores, lse and the same report",
           [] { equals_definition(make_data(*problems())); });
}

TEST_CASE("G01 the definition is within the derived bound of a long-double reference") {
  property("out, weights, scores and lse", [] {
    const Data data = make_data(*problems(100'000));
    const double fraction = worst_fraction_of_bound(data, define(data, all_outputs), true);
    if (!(fraction <= 1)) RC_FAIL(format(data.problem) + ": " + std::to_string(fraction) + " of the bound");
  });
}

TEST_CASE("G01 holds for NaN, infinities, zeros, subnormal and huge numbers too") {
  property("special values planted in q, k, v and bias", [] {
    Problem problem = *problems();
    problem.special = *rc::gen::element<std::uint64_t>(5, 50, 1000);
    equals_definition(make_data(problem));
  });
}

TEST_CASE("G01 holds for few rows, whether keys and values are asked for ahead or not") {
  property("around the bytes from which they are, from arrays and from a cache", [] {
    // Now and then what no cache holds, from a KvCache alone: arrays are packed where they are used.
    const bool in_memory = *rc::gen::weightedElement<bool>({{31, false}, {1, true}});
    const Data data = make_data(in_memory ? *few_rows_around(kernels::is_in_memory, 1)
                                          : *few_rows_around(kernels::is_far, 3));
    if (!in_memory) equals_definition(data);
    const Answer expected = define(data);
    for_each_isa([&](const Isa& isa) {
      if (!isa.has_fma) return;
      const Answer cached = run_cached(data, {data.problem.q_len}, data.problem.kv_len);
      require_same(isa, data, difference("out", expected.out, cached.out));
    });
  });
}
