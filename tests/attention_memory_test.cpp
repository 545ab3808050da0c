// What attention() does with memory: of arrays that have no elements, and as scratch of many threads.
#include <rapt/attention.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "support/isas.hpp"

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
