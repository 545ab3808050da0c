// KV-cache payload: the closed form, its inverse, and every refusal.
#include <rapt/capacity.hpp>
#include <rapt/error.hpp>

#include <catch2/catch.hpp>
#include <limits>

using namespace rapt;
using Catch::Contains;

TEST_CASE("payload is 2 B Hkv T D itemsize") {
  CHECK(kv_capacity({.batch = 2, .n_kv_heads = 3, .tokens = 5, .head_dim = 7, .itemsize = 8}) ==
        2 * 2 * 3 * 5 * 7 * 8);
  CHECK(kv_capacity({.n_kv_heads = 8, .tokens = 4096, .head_dim = 128, .layers = 32, .itemsize = 2}) ==
        536870912);
  CHECK(kv_capacity({.tokens = 10, .head_dim = 3, .v_dim = 5, .itemsize = 4}) == 10 * (3 + 5) * 4);
}

TEST_CASE("no sequence and no token need no bytes, whatever the other sizes") {
  const std::ptrdiff_t most = std::numeric_limits<std::ptrdiff_t>::max();
  CHECK(kv_capacity({.batch = 0, .n_kv_heads = most, .tokens = most, .head_dim = 64}) == 0);
  CHECK(kv_capacity({.batch = most, .n_kv_heads = most, .tokens = 0, .head_dim = 64}) == 0);
}

TEST_CASE("a payload that does not fit is refused, one that just fits is not") {
  const std::ptrdiff_t most = std::numeric_limits<std::ptrdiff_t>::max();
  CHECK(kv_capacity({.tokens = most / 2, .head_dim = 1, .itemsize = 1}) == most - 1);
  CHECK_THROWS_AS(kv_capacity({.tokens = most / 2 + 1, .head_dim = 1, .itemsize = 1}), invalid_input);
  CHECK_THROWS_AS(kv_capacity({.tokens = 1, .head_dim = most}), invalid_input);
  CHECK_THROWS_WITH(kv_capacity({.batch = most, .tokens = most, .head_dim = 1}),
                    Contains("9223372036854775807 bytes"));
}

TEST_CASE("members out of range are named with their value") {
  CHECK_THROWS_WITH(kv_capacity({.batch = -1}), Contains("batch is -1, expected at least 0"));
  CHECK_THROWS_WITH(kv_capacity({.n_kv_heads = 0}), Contains("n_kv_heads is 0, expected at least 1"));
  CHECK_THROWS_WITH(kv_capacity({.tokens = -4}), Contains("tokens is -4"));
  CHECK_THROWS_WITH(kv_capacity({.head_dim = 0}), Contains("head_dim is 0"));
  CHECK_THROWS_WITH(kv_capacity({.v_dim = 0}), Contains("v_dim is 0"));
  CHECK_THROWS_WITH(kv_capacity({.layers = 0}), Contains("layers is 0"));
  CHECK_THROWS_WITH(kv_capacity({.itemsize = 0}), Contains("itemsize is 0"));
}

TEST_CASE("tokens that fit is the largest number whose payload fits") {
  const KvShape shape{.batch = 3, .n_kv_heads = 2, .head_dim = 64, .v_dim = 32, .layers = 4, .itemsize = 2};
  for (const std::ptrdiff_t bytes : {0, 4607, 4608, 4609, 1 << 24}) {
    KvShape fitting = shape;
    fitting.tokens = kv_tokens_that_fit(shape, bytes);
    CHECK(kv_capacity(fitting) <= bytes);
    ++fitting.tokens;
    CHECK(kv_capacity(fitting) > bytes);
  }
  CHECK_THROWS_WITH(kv_tokens_that_fit({.batch = 0}, 1), Contains("batch is 0"));
  CHECK_THROWS_WITH(kv_tokens_that_fit(shape, -1), Contains("bytes is -1"));
}
