// What compare_builds asks of a build of rapt: one call, made ready and then run as often as it likes. Plain
// data, so that builds of two commits stand side by side in one process.
#pragma once

#include <cstddef>

namespace rapt::bench {

/// A call and its arrays. They are the same for both builds, since where they lie in memory moves short
/// products by a tenth; caches, packed matrices and scratch are each build's own.
struct PairedProblem {
  // attention: all rows of a causal prompt. weights: the same with its weights. decode: the last of n tokens,
  // against a cache that holds the others. project: n rows of one head by d x d. step: a token behind n of
  // one head and sequence, with its three projections.
  const char* call;
  bool f64;  // all arrays hold double, else float
  std::ptrdiff_t batch, heads, kv_heads, n, d;
  const void* q;          // [batch, heads, n, d]
  const void *k, *v;      // [batch, kv_heads, n, d]
  const void* transform;  // [d, d]
  void* out;              // [batch, heads, n, d]
  void* weights;          // [batch, heads, n, n] where the call is "weights", else null
};

inline constexpr const char* paired_call_names[]{"attention", "weights", "decode", "project", "step"};

/// The door of a build: a shared object with one function, `rapt_paired_call`.
struct PairedCall {
  void* (*make)(const PairedProblem& problem);  // null for a name it does not know
  void (*run)(void* call);
  void (*drop)(void* call);
};
using PairedCallOf = PairedCall (*)();

}  // namespace rapt::bench
