// G06: a batch entry does not depend on the others.
#include "generators.hpp"
#include "support/kv_gen.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// Entry b of the first axis; an axis of extent 1 that is repeated stays.
template <int N>
Array<N> entry(const Array<N>& array, std::ptrdiff_t b, std::ptrdiff_t batch) {
  if (array.extents[0] != batch) return array;
  Array<N> one = array;
  one.extents[0] = 1;
  const auto size = static_cast<std::ptrdiff_t>(array.values.size()) / batch;
  one.values.assign(array.values.begin() + b * size, array.values.begin() + (b + 1) * size);
  return one;
}

Data entry(const Data& data, std::ptrdiff_t b) {
  const std::ptrdiff_t batch = data.q.extents[0];
  Data one = data;
  for (Array<4>* array : {&one.q, &one.k, &one.v}) *array = entry(*array, b, batch);
  for (std::optional<Array<2>>* array : {&one.key_mask, &one.query_mask}) {
    if (*array) *array = entry(**array, b, batch);
  }
  for (std::optional<Array<4>>* array : {&one.attend, &one.bias}) {
    if (*array) *array = entry(**array, b, batch);
  }
  if (one.key_lengths) one.key_lengths = entry(*one.key_lengths, b, batch);
  return one;
}

}  // namespace

TEST_CASE("G06 a batch entry does not depend on the others") {
  property("each entry alone gives its bits in the batch", [] {
    const Data data = make_data(*problems());
    const std::ptrdiff_t batch = data.q.extents[0];
    for_each_isa([&](const Isa& isa) {
      const Answer all = run(data, all_outputs);
      for (std::ptrdiff_t b = 0; b < batch; ++b) {
        const Answer alone = run(entry(data, b), all_outputs);
        require_same(isa, data, difference("out", entry(all.out, b, batch), alone.out));
        require_same(isa, data, difference("weights", entry(*all.weights, b, batch), *alone.weights));
        require_same(isa, data, difference("scores", entry(*all.scores, b, batch), *alone.scores));
        require_same(isa, data, difference("lse", entry(*all.lse, b, batch), *alone.lse));
      }
    });
  });
}

TEST_CASE("G06 a sequence of a cache does not depend on the others") {
  property("each sequence alone gives its bits in the batch", [] {
    const Problem problem = *cacheable_problems();
    const Data data = make_data(problem);
    const Chunks chunks = *gen::chunks_of(problem.q_len);
    const std::ptrdiff_t batch = data.q.extents[0], capacity = *capacities(problem);
    for_each_isa([&](const Isa& isa) {
      const Answer all = run_cached(data, chunks, capacity);
      for (std::ptrdiff_t b = 0; b < batch; ++b) {
        const Answer alone = run_cached(entry(data, b), chunks, capacity);
        require_same(isa, data, difference("out", entry(all.out, b, batch), alone.out));
      }
    });
  });
}
