// The KV cache by example: the public bug reports A4, A9, A11 and A12, storage, copies, threads.
#include <rapt/rapt.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <thread>

#include "reference/attention_definition.hpp"
#include "support/fill.hpp"
#include "support/isas.hpp"
#include "support/place.hpp"
#include "support/threads.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

using Size = std::ptrdiff_t;

/// Dense arrays of one head each: [1, 1, len, dim].
template <class T>
struct Rows {
  Size len, dim;
  std::vector<T> values;

  Rows(Size len_, Size dim_) : len(len_), dim(dim_), values(static_cast<std::size_t>(len_ * dim_)) {}
  T& at(Size t, Size u) { return values[static_cast<std::size_t>(t * dim + u)]; }
  View<T, 4> rows(Size first, Size count) {
    return {values.data() + first * dim, {1, 1, count, dim}, {0, 0, dim, 1}};
  }
  View<T, 4> all() { return rows(0, len); }
  bool operator==(const Rows& other) const {
    return std::memcmp(values.data(), other.values.data(), values.size() * sizeof(T)) == 0;
  }
};

template <class T>
Rows<T> one_column(std::vector<T> values) {
  Rows<T> rows(std::ssize(values), 1);
  rows.values = std::move(values);
  return rows;
}

/// The numbers of case A12.
template <class T>
struct A12 {
  static constexpr Size len = 130, dim = 3;
  Rows<T> q{len, dim}, k{len, dim}, v{len, dim};
  A12() {
    for (Size t = 0; t < len; ++t) {
      for (Size d = 0; d < dim; ++d) {
        q.at(t, d) = static_cast<T>(std::sin(static_cast<double>(3 * t + d + 1)));
        k.at(t, d) = static_cast<T>(std::cos(static_cast<double>(5 * t + 2 * d)));
        v.at(t, d) = static_cast<T>((7 * t + d) % 11 - 5);
      }
    }
  }
};

template <class T>
constexpr KvDtype kv_dtype = std::is_same_v<T, double> ? KvDtype::f64 : KvDtype::f32;

/// The chunks one after another, the mask of the whole sequence cut alike.
template <class T>
Rows<T> cached(A12<T>& a, const std::vector<Size>& chunks, std::optional<Size> window, Size capacity,
               const bool* mask) {
  KvCache cache({.head_dim = a.dim, .capacity = capacity, .window = window, .dtype = kv_dtype<T>});
  Rows<T> out(a.len, a.dim);
  Size first = 0;
  for (const Size count : chunks) {
    KvAttendOptions options;
    if (mask != nullptr) options.key_mask = View<const bool, 2>{mask + first, {1, count}, {0, 1}};
    cache.attend(View<const T, 4>(a.q.rows(first, count)), View<const T, 4>(a.k.rows(first, count)),
                 View<const T, 4>(a.v.rows(first, count)), out.rows(first, count), options);
    first += count;
  }
  REQUIRE(first == a.len);
  return out;
}

template <class T>
void check_a12() {
  const std::vector<Size> one_call{130}, decode(130, 1),
      chunks{
          1, 7, 16, 64, 42,
      };
  std::vector<Size> prefill_then_decode(67, 1);
  prefill_then_decode[0] = 64;
  for_each_isa([&](const Isa& isa) {
    for (const std::optional<Size> window : {std::optional<Size>(), std::optional<Size>(9)}) {
      for (const Size padded : {Size{-1}, Size{0}, Size{20}}) {
        A12<T> a;
        std::array<bool, A12<T>::len> mask;
        for (Size t = 0; t < a.len; ++t) mask[static_cast<std::size_t>(t)] = t != padded;
        if (padded >= 0) a.k.at(padded, 0) = std::numeric_limits<T>::quiet_NaN();
        AttentionOptions<T> options;
        options.causal = Causal::top_left;
        options.window = window;
        if (padded >= 0) options.key_mask = contiguous<const bool>(mask.data(), {1, a.len});
        Rows<T> expected(a.len, a.dim);
        const View<const T, 4> q = a.q.all(), k = a.k.all(), v = a.v.all();
        if (isa.has_fma)
          reference::attention_definition<T, T>(q, k, v, expected.all(), options);
        else
          attention(q, k, v, expected.all(), options);
        for (const auto& schedule : {one_call, decode, chunks, prefill_then_decode}) {
          for (const Size capacity :
               window ? std::vector<Size>{9, 16, 130, 300} : std::vector<Size>{130, 300}) {
            INFO(isa.table->name << ", " << schedule.size() << " chunks, window " << window.value_or(0)
                                 << ", capacity " << capacity << ", padded " << padded);
            REQUIRE(cached(a, schedule, window, capacity, padded < 0 ? nullptr : mask.data()) == expected);
          }
        }
      }
    }
  });
}

/// Seeded numbers in [-1, 1).
std::vector<float> numbers(Size count, std::uint64_t stream) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(random_unit(11, stream, i));
  return values;
}

/// A cache of 2 sequences, 2 KV heads, 1024 tokens, and queries of 4 heads.
struct Filled {
  static constexpr Size batch = 2, n_kv_heads = 2, n_heads = 4, len = 1024, dim = 64;
  std::vector<float> k = numbers(batch * n_kv_heads * len * dim, 1),
                     v = numbers(batch * n_kv_heads * len * dim, 2), q = numbers(batch * n_heads * dim, 3);
  KvCache cache{{.batch = batch, .n_kv_heads = n_kv_heads, .head_dim = dim, .capacity = len}};

  Filled() {
    cache.append(contiguous<const float>(k.data(), {batch, n_kv_heads, len, dim}),
                 contiguous<const float>(v.data(), {batch, n_kv_heads, len, dim}));
  }
  std::vector<float> query() const {
    std::vector<float> out(q.size());
    cache.query(contiguous<const float>(q.data(), {batch, n_heads, 1, dim}),
                contiguous(out.data(), {batch, n_heads, 1, dim}));
    return out;
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("A12 cached equals uncached in every schedule, f32") { check_a12<float>(); }
TEST_CASE("A12 cached equals uncached in every schedule, f64") { check_a12<double>(); }

TEST_CASE("A4 a cache's window counts the row's own key") {
  Rows<double> zeros(4, 1), v = one_column<double>({1, 2, 4, 8}), out(4, 1), causal(4, 1);
  const View<const double, 4> q = zeros.all();
  const auto run = [&](std::optional<Size> window, Rows<double>& to) {
    KvCache cache({.capacity = 4, .window = window, .dtype = KvDtype::f64});
    cache.attend(q, q, View<const double, 4>(v.all()), to.all());
  };
  run(2, out);
  CHECK(out == one_column<double>({1, 1.5, 3, 6}));
  run(1, out);
  CHECK(out == v);
  run(std::nullopt, causal);
  run(4, out);
  CHECK(out == causal);
}

TEST_CASE("A9 an empty cache, and rows before position 0, give zeros") {
  KvCache cache({.capacity = 4, .dtype = KvDtype::f64});
  Rows<double> q = one_column<double>({1, 1, 1}), out = one_column<double>({9, 9, 9});
  const AttentionReport report = cache.query(View<const double, 4>(q.all()), out.all());
  CHECK(out == one_column<double>({0, 0, 0}));
  CHECK(report.dot_products == 0);
  Rows<double> v = one_column<double>({5});
  cache.append(View<const double, 4>(q.rows(0, 1)), View<const double, 4>(v.all()));
  cache.query(View<const double, 4>(q.all()), out.all());
  CHECK(out == one_column<double>({0, 0, 5}));
}

TEST_CASE("A11 a decode step has the same bits on any number of threads and in any arena", "[threads]") {
  const Filled filled;
  const std::vector<float> expected = filled.query();
  for (const int threads : {1, 2, 3, 4, 5, 8}) {
    std::vector<float> out;
    with_threads(threads, [&] { out = filled.query(); });
    CHECK(same_bits(out, expected));
  }
}

// Keys of the long sequence are split among items; the short one, a block of its own, goes the same way.
TEST_CASE("a short sequence beside a long one has the bits it has alone") {
  constexpr Size dim = 32, len = 1400, few = 5;
  Rows<float> rows(len, dim);
  for (Size t = 0; t < len; ++t)
    for (Size d = 0; d < dim; ++d)
      rows.at(t, d) = static_cast<float>(std::sin(static_cast<double>(t * dim + d)));
  const float* const from = rows.values.data();
  const View<const float, 4> both{from, {2, 1, len, dim}, {0, 0, dim, 1}},
      alone{from, {1, 1, few, dim}, {0, 0, dim, 1}};
  std::vector<char> real(2 * len, 1);
  std::fill(real.begin() + few, real.begin() + len, char{0});
  const View<const bool, 2> mask{reinterpret_cast<const bool*>(real.data()), {2, len}, {len, 1}};
  for_each_isa([&](const Isa&) {
    KvCache pair({.batch = 2, .head_dim = dim, .capacity = len}), single({.head_dim = dim, .capacity = few});
    pair.append(both, both, {.key_mask = mask});
    single.append(alone, alone);
    std::vector<float> out(2 * dim), expected(dim);
    pair.query(View<const float, 4>{from, {2, 1, 1, dim}, {0, 0, dim, 1}},
               contiguous(out.data(), {2, 1, 1, dim}));
    single.query(View<const float, 4>{from, {1, 1, 1, dim}, {0, 0, dim, 1}},
                 contiguous(expected.data(), {1, 1, 1, dim}));
    out.resize(dim);
    CHECK(same_bits(out, expected));
  });
}

TEST_CASE("queries of one cache may run at the same time", "[threads]") {
  const Filled filled;
  const std::vector<float> expected = filled.query();
  std::vector<std::vector<float>> outs(24);
  {
    std::vector<std::jthread> threads;
    for (auto& out : outs)
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) out = filled.query();
      });
  }
  for (const auto& out : outs) CHECK(same_bits(out, expected));
}

TEST_CASE("a copy of a cache shares nothing, and a move takes everything along") {
  Filled filled;
  const std::vector<float> expected = filled.query();
  KvCache copy = filled.cache;
  filled.cache.clear();
  CHECK(filled.cache.length(0) == 0);
  std::swap(filled.cache, copy);
  CHECK(same_bits(filled.query(), expected));
  CHECK(copy.length(1) == 0);
  filled.cache = KvCache(filled.cache);
  CHECK(same_bits(filled.query(), expected));
  copy = filled.cache;
  filled.cache.clear();
  filled.cache = copy;
  CHECK(same_bits(filled.query(), expected));
  const KvCache& itself = filled.cache;
  filled.cache = itself;
  CHECK(same_bits(filled.query(), expected));
}

TEST_CASE("a cache allocates what kv_cache_bytes says, at least the payload of kv_capacity") {
  for (const KvDtype dtype : {KvDtype::f32, KvDtype::f64, KvDtype::bf16, KvDtype::f16}) {
    for (const std::optional<Size> window : {std::optional<Size>(), std::optional<Size>(100)}) {
      const KvCacheOptions options{.batch = 2,
                                   .n_kv_heads = 3,
                                   .head_dim = 5,
                                   .v_dim = 7,
                                   .capacity = 300,
                                   .window = window,
                                   .dtype = dtype};
      const Size itemsize = dtype == KvDtype::f64 ? 8 : dtype == KvDtype::f32 ? 4 : 2;
      const Size payload = kv_capacity(
          {.batch = 2, .n_kv_heads = 3, .tokens = 300, .head_dim = 5, .v_dim = 7, .itemsize = itemsize});
      const KvCache cache(options);
      CHECK(cache.nbytes() == kv_cache_bytes(options));
      CHECK(cache.nbytes() >= payload);
      CHECK(cache.capacity() == 300);
      CHECK(cache.window() == window);
      CHECK(cache.options().v_dim == 7);
    }
  }
}

TEST_CASE("a cache keeps the ISA that was active when it was made") {
  const std::vector<float> expected = Filled().query();
  std::vector<std::unique_ptr<Filled>> made;
  for_each_isa([&](const Isa& isa) {
    if (isa.has_fma) made.push_back(std::make_unique<Filled>());
  });
  for_each_isa([&](const Isa&) {
    for (const auto& each : made) CHECK(same_bits(each->query(), expected));
  });
}

TEST_CASE("16-bit caches store their own type unchanged") {
  std::vector<f16> k(8), v(8);
  for (std::size_t i = 0; i < 8; ++i)
    k[i] = encode<f16>(0.125 * static_cast<double>(i)), v[i] = encode<f16>(-2.0);
  KvCache cache({.head_dim = 4, .capacity = 2, .dtype = KvDtype::f16});
  cache.append(contiguous<const f16>(k.data(), {1, 1, 2, 4}), contiguous<const f16>(v.data(), {1, 1, 2, 4}));
  std::vector<float> keys(8);
  cache.keys(0, contiguous(keys.data(), {1, 2, 4}));
  for (std::size_t i = 0; i < 8; ++i) CHECK(keys[i] == 0.125F * static_cast<float>(i));
}
