// Weights that are too many for the caches leave past them: the same bits as those written where they belong.
#include <rapt/attention.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "support/fill.hpp"
#include "support/isas.hpp"
#include "support/threads.hpp"

using namespace rapt;
using Size = std::ptrdiff_t;

namespace {

constexpr Size batch = 2, q_len = 1801, kv_len = 1803, dim = 3;
constexpr Size cells = batch * q_len * kv_len;  // more than 16 MiB of float

template <class T>
std::vector<T> filled(Size count, std::uint64_t stream) {
  std::vector<T> values;
  for (Size i = 0; i < count; ++i)
    values.push_back(static_cast<T>(test::random_unit(1, stream, static_cast<std::uint64_t>(i))));
  return values;
}

template <class T>
struct Weights {
  std::vector<T> memory = std::vector<T>(static_cast<std::size_t>(cells) + 2, T(-7));

  // One element into the memory, so that no row begins at a vector; or from the back, key by key.
  View<T, 4> forwards() { return contiguous(memory.data() + 1, {batch, 1, q_len, kv_len}); }
  View<T, 4> backwards() {
    return {memory.data() + cells, {batch, 1, q_len, kv_len}, {-q_len * kv_len, 0, -kv_len, -1}};
  }
};

/// Whether both are the same number or NaN, everywhere, and nothing beside them was written.
template <class T>
bool same(const Weights<T>& forwards, const Weights<T>& backwards) {
  const auto equal = [](T a, T b) {
    return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
  };
  return std::equal(forwards.memory.begin(), forwards.memory.end(), backwards.memory.rbegin(), equal) &&
         forwards.memory.front() == T(-7) && forwards.memory.back() == T(-7);
}

}  // namespace

TEMPLATE_TEST_CASE("many weights have the bits of few, masks and NaN included", "[threads]", float, double) {
  const auto q = filled<TestType>(batch * q_len * dim, 1), v = filled<TestType>(batch * kv_len * dim, 3);
  auto k = filled<TestType>(batch * kv_len * dim, 2);
  k[1700 * dim] = std::numeric_limits<TestType>::quiet_NaN();
  k[900 * dim] = -std::numeric_limits<TestType>::infinity();
  // The second sequence has padding, which its rows step over.
  const auto real = std::make_unique<bool[]>(static_cast<std::size_t>(batch * kv_len));
  for (Size j = 0; j < batch * kv_len; ++j) real[static_cast<std::size_t>(j)] = j < kv_len || j % 5 != 0;
  const auto query = std::make_unique<bool[]>(static_cast<std::size_t>(batch * q_len));
  for (Size i = 0; i < batch * q_len; ++i) query[static_cast<std::size_t>(i)] = i % 7 != 0;

  AttentionOptions<TestType> plain, windowed;
  plain.causal = windowed.causal = Causal::bottom_right;
  windowed.window = 700;
  windowed.key_mask = contiguous<const bool>(real.get(), {batch, kv_len});
  windowed.query_mask = contiguous<const bool>(query.get(), {batch, q_len});
  const auto attend = [&](AttentionOptions<TestType> options, const View<TestType, 4>& weights) {
    std::vector<TestType> out(static_cast<std::size_t>(batch * q_len * dim));
    options.weights = weights;
    attention(contiguous<const TestType>(q.data(), {batch, 1, q_len, dim}),
              contiguous<const TestType>(k.data(), {batch, 1, kv_len, dim}),
              contiguous<const TestType>(v.data(), {batch, 1, kv_len, dim}),
              contiguous<TestType>(out.data(), {batch, 1, q_len, dim}), options);
  };
  test::for_each_isa([&](const Isa& isa) {
    INFO(isa.table->name);
    for (const auto& options : {plain, windowed}) {
      for (const int threads : {1, 2}) {
        Weights<TestType> many, few;
        test::with_threads(threads, [&] { attend(options, many.forwards()); });
        attend(options, few.backwards());
        CHECK(same(many, few));
      }
    }
  });
}
