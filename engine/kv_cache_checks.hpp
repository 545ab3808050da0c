// What a KV cache refuses. Everything is checked before anything changes; tests/kv_cache_checks_test.cpp
// holds the messages. Rotations are checked where they are made ready (rope.cpp), before anything changes
// too.
#pragma once

#include <rapt/kv_cache.hpp>

#include <span>

#include "kv_cache_ring.hpp"
#include "view_checks.hpp"

namespace rapt {

/// What the checks need to know of a cache.
struct KvFacts {
  const KvCacheOptions& options;
  const KvRing& ring;
  std::span<const KvSequence> sequences;  // [batch]
};

/// Elements of a type that the cache does not take.
[[noreturn]] void refuse_element(const char* argument, KvDtype was, KvDtype dtype);

void check_options(const KvCacheOptions& options);
void check_sequence(const KvFacts& cache, const char* argument, std::ptrdiff_t b);

void check_append(const KvFacts& cache, const Footprint& k, const Footprint& v,
                  const KvAppendOptions& options);
void check_attend(const KvFacts& cache, const Footprint& q, const Footprint& k, const Footprint& v,
                  const Footprint& out, const KvAttendOptions& options);
void check_query(const KvFacts& cache, const Footprint& q, const Footprint& out,
                 const KvQueryOptions& options);
/// lengths: one for each sequence.
void check_rollback(const KvFacts& cache, const View<const std::ptrdiff_t, 1>& lengths);
/// dim: head_dim or v_dim, which `dim_name` says.
void check_read(const KvFacts& cache, std::ptrdiff_t b, const Footprint& out, std::ptrdiff_t dim,
                const char* dim_name);

}  // namespace rapt
