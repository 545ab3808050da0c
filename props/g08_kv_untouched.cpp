// G08 over the cache: padded tokens are never read.
#include "generators.hpp"
#include "support/kv_gen.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G08 tokens behind key_mask are never read by a cache") {
  property("padded tokens on pages that cannot be read", [] {
    Problem problem = *cacheable_problems();
    if (problem.key_mask == Mask::absent) problem.key_mask = Mask::random;
    const Data data = make_data(problem);
    const Chunks chunks = *gen::chunks_of(problem.q_len);
    const std::ptrdiff_t capacity = *capacities(problem);
    for_each_isa([&](const Isa& isa) {
      const Answer expected = run(data);
      const Answer actual =
          run_cached(data, chunks, capacity, {.layout = Layout::paged, .forbid_padding = true});
      require_same(isa, data, difference("out", expected.out, actual.out));
    });
  });
}
