// In steady state a KV cache allocates nothing. operator new of the whole test program is counted for that.
#include <rapt/kv_cache.hpp>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <vector>

#include "support/threads.hpp"

namespace {

std::atomic<long> allocations{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, whole)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Not inlined: GCC would take new and free for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
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
TEST_CASE("a cache in steady state allocates nothing, on two threads") { check_steady(2); }
