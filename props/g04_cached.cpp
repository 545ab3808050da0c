// G04: cached equals uncached for every schedule of prefill chunks and decode steps.
#include "generators.hpp"
#include "support/kv_gen.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G04 cached equals uncached for every schedule of prefill chunks and decode steps") {
  property("any chunks, in any cache that may hold them", [] {
    const Problem problem = *cacheable_problems();
    const Data data = make_data(problem);
    const Chunks chunks = *gen::chunks_of(problem.q_len);
    const std::ptrdiff_t capacity = *capacities(problem);
    for_each_isa([&](const Isa& isa) {
      const Answer uncached = run(data);
      const Answer cached = run_cached(data, chunks, capacity);
      require_same(isa, data, difference("out", uncached.out, cached.out));
      if (cached.report.dot_products != uncached.report.dot_products) require_same(isa, data, "dot_products");
    });
  });
}
