// G07: grouped heads equal full heads with repeated K and V.
#include "generators.hpp"
#include "support/kv_gen.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

Array<4> repeat_heads(const Array<4>& array, std::ptrdiff_t n_heads) {
  const auto& [batch, n_kv_heads, len, dim] = array.extents;
  Array<4> repeated({batch, n_heads, len, dim});
  for (std::ptrdiff_t b = 0; b < batch; ++b) {
    for (std::ptrdiff_t h = 0; h < n_heads; ++h) {
      for (std::ptrdiff_t at = 0; at < len * dim; ++at) {
        const auto from =
            static_cast<std::size_t>((b * n_kv_heads + h * n_kv_heads / n_heads) * len * dim + at);
        repeated.values[static_cast<std::size_t>((b * n_heads + h) * len * dim + at)] = array.values[from];
      }
    }
  }
  return repeated;
}

}  // namespace

TEST_CASE("G07 grouped heads equal full heads with repeated K and V") {
  property("query head h reads KV head h * n_kv_heads / n_heads", [] {
    const Data grouped = make_data(*problems());
    Data full = grouped;
    full.k = repeat_heads(grouped.k, grouped.q.extents[1]);
    full.v = repeat_heads(grouped.v, grouped.q.extents[1]);
    for_each_isa([&](const Isa& isa) {
      Answer expected = run(full, all_outputs);
      const Answer actual = run(grouped, all_outputs);
      // The full call stores, and reads, its heads more often.
      expected.report.bytes_read /= grouped.q.extents[1] / grouped.k.extents[1];
      require_same(isa, grouped, difference(expected, actual));
    });
  });
}

TEST_CASE("G07 grouped heads over a cache equal full heads with repeated K and V") {
  property("any chunks", [] {
    const Problem problem = *cacheable_problems();
    const Data grouped = make_data(problem);
    Data full = grouped;
    full.k = repeat_heads(grouped.k, grouped.q.extents[1]);
    full.v = repeat_heads(grouped.v, grouped.q.extents[1]);
    const Chunks chunks = *gen::chunks_of(problem.q_len);
    const std::ptrdiff_t capacity = *capacities(problem);
    for_each_isa([&](const Isa& isa) {
      Answer expected = run_cached(full, chunks, capacity);
      expected.report.bytes_read /= grouped.q.extents[1] / grouped.k.extents[1];
      require_same(isa, grouped, difference(expected, run_cached(grouped, chunks, capacity)));
    });
  });
}
