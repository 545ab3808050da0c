// What a cache stores, in each type, is what it attends to: the bits of attention() over what it reads back.
#include <rapt/attention.hpp>
#include <rapt/kv_cache.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "support/fill.hpp"
#include "support/isas.hpp"

using namespace rapt;
using Size = std::ptrdiff_t;

namespace {

constexpr Size kv_heads = 2, n_heads = 4;

struct Storage {
  KvDtype dtype;
  double unit;  // the largest relative error of a number in it
};

std::vector<float> filled(Size count, std::uint64_t stream) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(test::random_unit(7, stream, i));
  return values;
}

/// Tokens [first, first + count) of [heads][n][dim].
View<const float, 4> tokens(const std::vector<float>& values, Size heads, Size n, Size dim, Size first,
                            Size count) {
  return {values.data() + first * dim, {1, heads, count, dim}, {0, n * dim, dim, 1}};
}

/// Whether `read` is `given` as storage rounds it: numbers below 2^-14 may lose more of f16.
bool near(const std::vector<float>& read, const std::vector<float>& given, double unit) {
  for (std::size_t i = 0; i < read.size(); ++i)
    if (!(std::abs(read[i] - given[i]) <= unit * std::abs(given[i]) + 0x1p-25)) return false;
  return true;
}

/// All but the last `rows` tokens appended, the last ones attended.
void check(const Storage& storage, Size dim, Size n, Size rows) {
  const std::vector<float> q = filled(n_heads * n * dim, 1), k = filled(kv_heads * n * dim, 2),
                           v = filled(kv_heads * n * dim, 3);
  const Size before = n - rows;
  KvCache cache({.n_kv_heads = kv_heads, .head_dim = dim, .capacity = n, .dtype = storage.dtype});
  cache.append(tokens(k, kv_heads, n, dim, 0, before), tokens(v, kv_heads, n, dim, 0, before));
  std::vector<float> cached(static_cast<std::size_t>(n_heads * rows * dim)), uncached(cached.size());
  cache.attend(tokens(q, n_heads, n, dim, before, rows), tokens(k, kv_heads, n, dim, before, rows),
               tokens(v, kv_heads, n, dim, before, rows),
               contiguous(cached.data(), {Size{1}, n_heads, rows, dim}));

  std::vector<float> held_k(k.size()), held_v(v.size());
  cache.keys(0, contiguous(held_k.data(), {kv_heads, n, dim}));
  cache.values(0, contiguous(held_v.data(), {kv_heads, n, dim}));
  CHECK(near(held_k, k, storage.unit));
  CHECK(near(held_v, v, storage.unit));
  AttentionOptions<float> options;
  options.causal = Causal::bottom_right;
  attention(tokens(q, n_heads, n, dim, before, rows), tokens(held_k, kv_heads, n, dim, 0, n),
            tokens(held_v, kv_heads, n, dim, 0, n),
            contiguous(uncached.data(), {Size{1}, n_heads, rows, dim}), options);
  CHECK(std::memcmp(cached.data(), uncached.data(), cached.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("a cache attends to the numbers it stores, in every type of storage") {
  for (const Storage& storage :
       {Storage{KvDtype::f32, 0}, {KvDtype::bf16, 0x1p-8}, {KvDtype::f16, 0x1p-11}}) {
    for (const Size dim : {1, 7, 8, 16, 33, 64}) {
      for (const Size n : {5, 16, 17, 256, 300}) {
        for (const Size rows : {1, 3, 5}) {
          test::for_each_isa([&](const Isa& isa) {
            CAPTURE(isa.table->name, static_cast<int>(storage.dtype), dim, n, rows);
            check(storage, dim, n, rows);
          });
        }
      }
    }
  }
}

TEST_CASE("a cache that no level of the caches holds does so too") {
  for (const Storage& storage :
       {Storage{KvDtype::f32, 0}, {KvDtype::bf16, 0x1p-8}, {KvDtype::f16, 0x1p-11}}) {
    const Size element_bytes = storage.dtype == KvDtype::f32 ? 4 : 2;
    for (const Size dim : {72, 128}) {
      const Size n = 17 * 1024 * 1024 / (2 * kv_heads * dim * element_bytes);
      REQUIRE(kernels::is_in_memory(static_cast<double>(2 * kv_heads * n * dim * element_bytes)));
      for (const Size rows : {1, 3}) {
        test::for_each_isa([&](const Isa& isa) {
          CAPTURE(isa.table->name, static_cast<int>(storage.dtype), dim, n, rows);
          check(storage, dim, n, rows);
        });
      }
    }
  }
}
