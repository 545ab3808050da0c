// A KV cache of one storage type: numbers the tokens and rows of a call, stores the ones, attends with the
// others. Arguments are checked already, but for rotations.
#pragma once

#include <rapt/kv_cache.hpp>

#include <vector>

#include "kv_cache_store.hpp"
#include "kv_cache_workspace.hpp"

namespace rapt {

template <class S>
class TypedKvCache {
 public:
  using T = ArithmeticOf<S>;

  TypedKvCache(const KvLayout& layout, const kernels::KernelTable& table)
      : table_(table), store_(layout, table), sequences_(static_cast<std::size_t>(layout.batch)) {}
  /// Copies the tokens held.
  TypedKvCache(const TypedKvCache& other);

  template <class In>
  void append(const View<const In, 4>& k, const View<const In, 4>& v, const KvAppendOptions& options);
  template <class In>
  AttentionReport attend(const View<const T, 4>& q, const View<const In, 4>& k, const View<const In, 4>& v,
                         const View<T, 4>& out, const KvAttendOptions& options);
  AttentionReport query(const View<const T, 4>& q, const View<T, 4>& out,
                        const KvQueryOptions& options) const;

  const KvStore<S>& store() const noexcept { return store_; }
  const std::vector<KvSequence>& sequences() const noexcept { return sequences_; }
  const KvSequence& sequence(Size b) const noexcept { return sequences_[static_cast<std::size_t>(b)]; }
  /// Length 0 forgets everything, the first held position too.
  void cut(Size b, Size length) noexcept;
  void copy_sequence(Size source, Size target) noexcept;

 private:
  const KvRing& ring() const noexcept { return store_.layout().ring; }
  template <class In>
  void write(const KvTokens* tokens, const View<const In, 4>& k, const View<const In, 4>& v, Size slots,
             RowRotation<T>* rotations, T* lines) const noexcept;

  const kernels::KernelTable& table_;
  KvStore<S> store_;
  std::vector<KvSequence> sequences_;  // [batch]
  KvWorkspaces<T> workspaces_;
};

}  // namespace rapt
