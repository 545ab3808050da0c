// operator new of the whole test program is ours: in steady state a KV cache does not call it, and whichever
// call of it fails, a call of rapt throws std::bad_alloc, has changed nothing and has lost nothing.
#include <rapt/rapt.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <vector>

#include "support/threads.hpp"

namespace {

std::atomic<long> allocations{0}, live{0};
std::atomic<long> allowed{-1};        // so many more succeed; below 0: all
std::atomic<std::size_t> largest{0};  // bytes

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allowed >= 0 && allowed-- == 0) {
    allowed = 0;
    throw std::bad_alloc();
  }
  ++allocations;
  ++live;
  if (bytes > largest) largest = bytes;  // read where one thread allocates
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, whole)) return memory;
  throw std::bad_alloc();
}

void release(void* memory) noexcept {
  if (memory != nullptr) --live;
  std::free(memory);
}

}  // namespace

// Not inlined: GCC would take new and free for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return operator new(bytes);
} catch (const std::bad_alloc&) {
  return nullptr;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

namespace {

using namespace rapt;
using Size = std::ptrdiff_t;

/// Steps of a batch of 2 ragged sequences, with rotation and a mask, past blocks and around the ring.
long allocations_of_steps(KvCache& cache, Size steps, Size tokens) {
  constexpr Size batch = 2, n_kv_heads = 2, n_heads = 8, dim = 64;
  std::vector<float> q(static_cast<std::size_t>(batch * n_heads * tokens * dim), 0.5F);
  std::vector<float> k(static_cast<std::size_t>(batch * n_kv_heads * tokens * dim), 0.25F), out(q.size());
  bool mask[batch * 64]{};
  const View<bool, 2> real = contiguous(mask, {batch, tokens});
  const long before = allocations;
  for (Size step = 0; step < steps; ++step) {
    for (Size t = 0; t < tokens; ++t) real(0, t) = true, real(1, t) = (step + t) % 3 != 0;
    const View<const float, 4> q_view = contiguous<const float>(q.data(), {batch, n_heads, tokens, dim});
    const View<const float, 4> k_view = contiguous<const float>(k.data(), {batch, n_kv_heads, tokens, dim});
    const View<float, 4> out_view = contiguous(out.data(), {batch, n_heads, tokens, dim});
    cache.attend(q_view, k_view, k_view, out_view, {.key_mask = real, .rope = RopeOptions{}});
    cache.query(q_view, out_view, {.rope = RopeOptions{.interleaved = true}});
    if (step % 10 == 9) cache.rollback(std::vector<Size>{cache.length(0) - 1, cache.length(1)});
  }
  return allocations - before - steps / 10;  // the list of lengths is the test's own
}

void check_steady(int threads) {
  rapt::test::with_threads(threads, [] {
    KvCache cache({.batch = 2, .n_kv_heads = 2, .head_dim = 64, .capacity = 1500, .window = 1400});
    // The first calls of each kind take their scratch.
    CHECK(allocations_of_steps(cache, 4, 1) > 0);
    allocations_of_steps(cache, 2, 40);
    allocations_of_steps(cache, 4, 1);
    CHECK(allocations_of_steps(cache, 1700, 1) == 0);
    CHECK(allocations_of_steps(cache, 9, 40) == 0);
    cache.clear();
    CHECK(allocations_of_steps(cache, 20, 1) == 0);
  });
}

}  // namespace

TEST_CASE("a cache in steady state allocates nothing, on one thread") { check_steady(1); }
TEST_CASE("a cache in steady state allocates nothing, on two threads", "[threads]") { check_steady(2); }

namespace {

struct AllowedAllocations {
  explicit AllowedAllocations(long count) { allowed = count; }
  ~AllowedAllocations() { allowed = -1; }
};

/// Runs call() with the first, the second, ... allocation failing, until it succeeds. `unchanged` is asked
/// after every failure.
template <class Call, class Unchanged>
void survives_every_failure(Call call, Unchanged unchanged) {
  call();  // what is made once a process is made
  const long before = live;
  long failures = 0;
  for (bool done = false; !done; ++failures) {
    try {
      const AllowedAllocations scope(failures);
      call();
      done = true;
    } catch (const std::bad_alloc&) {
      REQUIRE(unchanged());
      REQUIRE(live == before);
    }
    REQUIRE(failures < 10000);
  }
  CHECK(failures > 1);
  CHECK(live == before);
}

constexpr Size batch = 2, n_heads = 4, n_kv_heads = 2, len = 300, dim = 20;

struct Tokens {
  std::vector<float> q = std::vector<float>(batch * n_heads * len * dim, 0.5F);
  std::vector<float> k = std::vector<float>(batch * n_kv_heads * len * dim, 0.25F);
  std::vector<float> out = std::vector<float>(q.size(), 7);
  bool mask[batch * len];

  Tokens() {
    for (Size at = 0; at < batch * len; ++at) mask[at] = at % 7 != 2;
  }

  View<const float, 4> q_view() const { return contiguous(q.data(), {batch, n_heads, len, dim}); }
  View<const float, 4> k_view() const { return contiguous(k.data(), {batch, n_kv_heads, len, dim}); }
  View<float, 4> out_view() { return contiguous(out.data(), {batch, n_heads, len, dim}); }
  View<const bool, 2> mask_view() const { return contiguous(mask, {batch, len}); }
  bool untouched() const { return out == std::vector<float>(out.size(), 7); }
  void reset() { out.assign(out.size(), 7); }
};

}  // namespace

TEST_CASE("an attention call whose allocation fails writes nothing") {
  Tokens tokens;
  std::vector<float> weights(batch * n_heads * len * len);
  AttentionOptions<float> options;
  SECTION("plain") {}
  SECTION("masked, windowed, with weights") {
    options.causal = Causal::bottom_right;
    options.window = 70;
    options.key_mask = tokens.mask_view();
    options.weights = contiguous(weights.data(), {batch, n_heads, len, len});
  }
  SECTION("soft-capped") { options.softcap = 3.0F; }
  for (const int threads : {1, 2}) {
    rapt::test::with_threads(threads, [&] {
      survives_every_failure(
          [&] {
            tokens.reset();
            attention(tokens.q_view(), tokens.k_view(), tokens.k_view(), tokens.out_view(), options);
          },
          [&] { return tokens.untouched(); });
    });
  }
}

TEMPLATE_TEST_CASE("a call allocates the scratch that attention_scratch_bytes says", "", float, double, bf16,
                   f16) {
  using T = std::conditional_t<std::is_same_v<TestType, double>, double, float>;
  constexpr Size q_len = 40, kv_len = 600, head_dim = 16;
  const std::vector<T> queries(2 * q_len * head_dim, T(0.5));
  const std::vector<TestType> keys(2 * kv_len * head_dim);
  std::vector<T> result(2 * q_len * head_dim);
  const View<const T, 4> q = contiguous<const T>(queries.data(), {1, 2, q_len, head_dim});
  const View<const TestType, 4> k = contiguous<const TestType>(keys.data(), {1, 2, kv_len, head_dim});
  const View<T, 4> out = contiguous(result.data(), {1, 2, q_len, head_dim});
  rapt::test::with_threads(1, [&] {
    const Size bytes = attention_scratch_bytes(q, k, k, out);
    largest = 0;
    attention(q, k, k, out);
    CHECK(largest == static_cast<std::size_t>(bytes));
  });
}

TEST_CASE("a cache whose allocation fails is what it was") {
  Tokens tokens;
  const KvCacheOptions shape{.batch = batch, .n_kv_heads = n_kv_heads, .head_dim = dim, .capacity = 400};
  survives_every_failure([&] { KvCache cache(shape); }, [] { return true; });
  survives_every_failure(
      [&] {
        KvCache cache(shape);
        cache.append(tokens.k_view(), tokens.k_view(), {.key_mask = tokens.mask_view()});
        const Size length = cache.length(0);
        tokens.reset();
        try {
          cache.query(tokens.q_view(), tokens.out_view(), {.rope = RopeOptions{}});
          const KvCache copy = cache;
          cache.rollback(10);
        } catch (const std::bad_alloc&) {
          if (cache.length(0) != length) tokens.out[0] = 8;
          throw;
        }
      },
      [&] { return tokens.out[0] != 8; });
}

TEST_CASE("projections, embeddings and the staged program survive every failed allocation") {
  const std::vector<double> weight(dim * dim, 0.5), x(batch * len * dim, 0.25);
  std::vector<double> out(x.size(), 7);
  survives_every_failure(
      [&] {
        out.assign(out.size(), 7);
        const Projection<double> projection(contiguous(weight.data(), {dim, dim}));
        project(contiguous(x.data(), {batch, len, dim}), projection,
                contiguous(out.data(), {batch, len, dim}));
      },
      [&] { return out == std::vector<double>(out.size(), 7); });
  survives_every_failure([] { Embedding embedding({.vocab_size = 30, .hidden_dim = 8}); },
                         [] { return true; });
  survives_every_failure([] { encode("some text"); }, [] { return true; });
  bool printed = false;
  survives_every_failure(
      [&] {
        printed = false;
        const pipeline::Input input = pipeline::parse("2 1 1 2 b a 1 1 0.5 1 2 1 1 1");
        printed = pipeline::print(input, pipeline::run(input), [](std::string_view) { return true; });
      },
      [&] { return !printed; });
  CHECK(printed);
}

TEST_CASE("a call whose scratch no counter holds throws std::bad_alloc and writes nothing") {
  const double one[1]{1};
  double out[64]{};
  const auto rows = [&](Size count, Size width) {
    return View<const double, 4>{one, {1, 1, count, width}, {}};
  };
  // 64 copied rows of q, and the 256 keys of a packed block, would wrap around to few elements.
  for (const Size width : {Size{1} << 56, Size{1} << 58}) {
    CHECK_THROWS_AS(attention(rows(64, width), rows(1, width), rows(1, 1), contiguous(out, {1, 1, 64, 1})),
                    std::bad_alloc);
  }
  CHECK(std::count(out, out + 64, 0.0) == 64);
}
