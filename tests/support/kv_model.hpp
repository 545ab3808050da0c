// A KV cache beside a model that keeps everything: schedules of operations run on both, and every answer is
// compared with the scalar definition over the whole history (on an ISA without FMA: with attention()).
#pragma once

#include <rapt/kv_cache.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rapt::test {

/// A cache and its rows. Names itself, so that a failure can be replayed.
struct KvSetting {
  std::ptrdiff_t batch = 1, n_kv_heads = 1, group = 1, head_dim = 4, v_dim = 4, capacity = 300;
  std::optional<std::ptrdiff_t> window;
  KvDtype dtype = KvDtype::f32;
  std::uint64_t seed = 0;

  KvCacheOptions options() const { return {batch, n_kv_heads, head_dim, v_dim, capacity, window, dtype}; }
};
std::string format(const KvSetting& setting);

enum class KvVerb { append, attend, query, rollback, rollback_each, clear, copy_sequence, copy_cache, read };

/// One operation. Every operation may be tried in every state: where the rules refuse it, both must.
struct KvOperation {
  KvVerb verb = KvVerb::append;
  std::ptrdiff_t size = 1;  // tokens, rows; what else is drawn comes from the seed
  bool masked = false, rotated = false, careful = false;  // careful: with scale and softcap
  std::uint64_t seed = 0;
};
std::string format(const KvOperation& operation);

/// What the rules say of one sequence, beside the tokens themselves.
struct KvHistory {
  std::vector<double> k, v;  // [length][n_kv_heads][dim], as stored
  std::ptrdiff_t first = 0, length = 0;
};

class KvModel {
 public:
  /// With the ISA that is active, which must stay so. exact: it has FMA.
  KvModel(const KvSetting& setting, bool exact);
  ~KvModel();

  /// Does it; returns what is wrong in words, empty where nothing is.
  std::string apply(const KvOperation& operation);

 private:
  template <class S>
  class Step;

  KvSetting setting_;
  bool exact_;
  std::unique_ptr<KvCache> cache_;
  std::vector<KvHistory> histories_;
};

/// All of them in order; the first thing wrong, with the setting and the operations so far.
std::string run_schedule(const KvSetting& setting, const std::vector<KvOperation>& operations, bool exact);

}  // namespace rapt::test
