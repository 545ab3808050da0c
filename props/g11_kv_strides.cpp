// G11 over the cache: strides do not matter, and nothing outside the views is read or written.
#include "generators.hpp"
#include "support/kv_gen.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G11 strides do not matter to a cache, and nothing outside the views is read or written") {
  property("every layout, between guard pages", [] {
    const Problem problem = *cacheable_problems();
    const Data data = make_data(problem);
    const Chunks chunks = *gen::chunks_of(problem.q_len);
    const Call call{.layout = *rc::gen::element(Layout::dense, Layout::permuted, Layout::gapped,
                                                Layout::reversed, Layout::columns, Layout::repeated),
                    .flush_end = *rc::gen::arbitrary<bool>()};
    const std::ptrdiff_t capacity = *capacities(problem);
    for_each_isa([&](const Isa& isa) {
      require_same(isa, data, difference("out", run(data).out, run_cached(data, chunks, capacity, call).out));
    });
  });
}
