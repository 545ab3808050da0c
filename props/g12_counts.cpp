// G12: reported counts equal the closed form: offered pairs, pairs left after attend and query_mask, and
// bytes, each key once.
#include <algorithm>

#include "generators.hpp"
#include "support/kv_gen.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

std::ptrdiff_t sum(const Array<4>& ones) {
  return static_cast<std::ptrdiff_t>(std::count(ones.values.begin(), ones.values.end(), 1.0));
}

// Keys that some row of the batch entry is offered; the heads are alike.
std::ptrdiff_t offered_keys(const Array<4>& offered) {
  std::ptrdiff_t keys = 0;
  for (std::ptrdiff_t b = 0; b < offered.extents[0]; ++b) {
    for (std::ptrdiff_t j = 0; j < offered.extents[3]; ++j) {
      bool any = false;
      for (std::ptrdiff_t i = 0; i < offered.extents[2]; ++i) any = any || offered(b, 0, i, j) != 0;
      keys += any ? 1 : 0;
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("G12 reported counts equal the closed form") {
  property("dot_products, visible_pairs and bytes_read", [] {
    const Data data = make_data(*problems());
    Data offered = data;
    offered.attend.reset();
    offered.query_mask.reset();
    const Array<4> pairs = visible_pairs(offered);
    const std::ptrdiff_t element = data.problem.dtype == Dtype::f64   ? 8
                                   : data.problem.dtype == Dtype::f32 ? 4
                                                                      : 2;
    for_each_isa([&](const Isa& isa) {
      const AttentionReport report = run(data).report;
      const std::ptrdiff_t bytes =
          offered_keys(pairs) * data.k.extents[1] * (data.k.extents[3] + data.v.extents[3]) * element;
      if (report.dot_products != sum(pairs)) require_same(isa, data, "dot_products");
      if (report.visible_pairs != sum(visible_pairs(data))) require_same(isa, data, "visible_pairs");
      if (report.bytes_read != bytes) require_same(isa, data, "bytes_read");
    });
  });
}

TEST_CASE("G12 a causal prefill counts T(T+1)/2 pairs a head, a window W(W+1)/2 + (T-W)W") {
  property("triangle and band", [] {
    Problem problem;
    problem.q_len = problem.kv_len = *lengths(300);
    problem.n_heads = *rc::gen::inRange<std::ptrdiff_t>(1, 4);
    problem.causal = Causal::bottom_right;
    const std::ptrdiff_t t = problem.q_len, window = 1 + *lengths(300), w = std::min(window, t);
    for_each_isa([&](const Isa& isa) {
      problem.window.reset();
      const Data causal = make_data(problem);
      if (run(causal).report.dot_products != problem.n_heads * t * (t + 1) / 2)
        require_same(isa, causal, "triangle");
      problem.window = window;
      const Data band = make_data(problem);
      if (run(band).report.dot_products != problem.n_heads * (w * (w + 1) / 2 + (t - w) * w))
        require_same(isa, band, "band");
    });
  });
}

TEST_CASE("G12 a cache's counts are those of one uncached call, and it stores no padding") {
  property("dot_products and visible_pairs over any chunks", [] {
    const Problem problem = *cacheable_problems();
    const Data data = make_data(problem);
    const Chunks chunks = *gen::chunks_of(problem.q_len);
    const std::ptrdiff_t capacity = *capacities(problem);
    const std::ptrdiff_t pairs = sum(visible_pairs(data));
    for_each_isa([&](const Isa& isa) {
      const AttentionReport report = run_cached(data, chunks, capacity).report;
      if (report.dot_products != pairs) require_same(isa, data, "dot_products");
      if (report.visible_pairs != pairs) require_same(isa, data, "visible_pairs");
    });
  });
}
