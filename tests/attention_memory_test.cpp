// What attention() does with memory: of arrays that have no elements, and as scratch of many threads.
#include <rapt/attention.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "support/isas.hpp"
#include "support/threads.hpp"

using namespace rapt;
using Size = std::ptrdiff_t;

// The sanitizers tell when an address is made of nothing.
TEST_CASE("keys and values that are none need no memory, whatever their strides") {
  constexpr Size batch = 2, heads = 3, dim = 16;
  for (const Size q_len : {1, 97}) {  // streamed, and packed in waves
    const std::vector<float> q(static_cast<std::size_t>(batch * heads * q_len * dim), 0.5F);
    const View<const float, 4> none{nullptr, {batch, heads, 0, dim}, {1000, 100, dim, 1}};
    test::for_each_isa([&](const Isa& isa) {
      CAPTURE(q_len, isa.table->name);
      std::vector<float> out(q.size(), 7);
      const AttentionReport report = attention(contiguous(q.data(), {batch, heads, q_len, dim}), none, none,
                                               contiguous(out.data(), {batch, heads, q_len, dim}));
      CHECK(std::count(out.begin(), out.end(), 0.0F) == static_cast<Size>(out.size()));
      CHECK(report.bytes_read == 0);
    });
  }
}

TEST_CASE("arrays over pairs need no memory where there are no keys") {
  constexpr Size q_len = 3, dim = 16;
  const std::vector<float> q(static_cast<std::size_t>(q_len * dim), 0.5F);
  const View<const float, 4> none{nullptr, {1, 1, 0, dim}, {0, 0, dim, 1}};
  const View<float, 4> no_pairs{nullptr, {1, 1, q_len, 0}, {100, 100, 10, 1}};
  std::vector<float> lse(static_cast<std::size_t>(q_len), 7);
  AttentionOptions<float> options;
  options.weights = options.scores = no_pairs;
  options.bias = no_pairs;
  options.attend = View<const bool, 4>{nullptr, no_pairs.extents, no_pairs.strides};
  options.lse = contiguous(lse.data(), {1, 1, q_len});
  test::for_each_isa([&](const Isa& isa) {
    CAPTURE(isa.table->name);
    std::vector<float> out(q.size(), 7);
    attention(contiguous(q.data(), {1, 1, q_len, dim}), none, none,
              contiguous(out.data(), {1, 1, q_len, dim}), options);
    CHECK(std::count(out.begin(), out.end(), 0.0F) == static_cast<Size>(out.size()));
    CHECK(std::count(lse.begin(), lse.end(), -std::numeric_limits<float>::infinity()) == q_len);
  });
}

TEST_CASE("the stride of an axis of one element may be any, also where its bytes cannot be counted") {
  constexpr Size dim = 16, stride = Size{1} << 61;
  const std::vector<float> values(3 * dim, 0.5F);
  std::vector<float> out(dim, 7);
  const auto view = [&](Size first) {
    return View<const float, 4>{values.data() + first, {1, 1, 1, dim}, {stride, stride, stride, 1}};
  };
  attention(view(0), view(dim), view(2 * dim),
            View<float, 4>{out.data(), {1, 1, 1, dim}, {stride, stride, stride, 1}});
  CHECK(out == std::vector<float>(out.size(), 0.5F));
}

// A counterexample: with 8 threads, 8 heads were packed at once, however long they were.
TEST_CASE("scratch does not grow to a copy of long keys and values because threads are many", "[threads]") {
  constexpr Size heads = 8, q_len = 1000, kv_len = 65536, dim = 128;
  constexpr Size head_bytes = 2 * kv_len * dim * static_cast<Size>(sizeof(float));
  const float element = 0;  // of all keys, values and queries
  const auto repeated = [&](Size len) {
    return View<const float, 4>{&element, {1, heads, len, dim}, {0, 0, 0, 0}};
  };
  std::vector<float> out(static_cast<std::size_t>(heads * q_len * dim));
  test::with_threads(8, [&] {
    const Size bytes = attention_scratch_bytes(repeated(q_len), repeated(kv_len), repeated(kv_len),
                                               contiguous(out.data(), {1, heads, q_len, dim}));
    CHECK(bytes >= head_bytes);
    CHECK(bytes < 2 * head_bytes);
  });
}
