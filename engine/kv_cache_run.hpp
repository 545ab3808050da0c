// Attention over stored blocks: the items of a call, their scratch, and the order in which they meet.
#pragma once

#include "kv_cache_call.hpp"
#include "row_block.hpp"

namespace rapt {

/// Takes a KvCall over the stored blocks. The call's q, out, ends and q_len may change between runs.
template <class S>
class KvRun {
 public:
  using T = ArithmeticOf<S>;
  using Rows = RowBlock<KvCall<S>>;

  /// Carves what runs of up to most_rows rows a sequence need. `slots`: of run_items().
  KvRun(const KvCall<S>& call, Size most_rows, Size slots, Carver& memory);

  void run() noexcept;
  /// (row, key) pairs that kernels worked on so far.
  Size pairs() const noexcept;

 private:
  struct Blocks {  // of one sequence, that some row is offered
    Size begin, end;
  };

  void run_rows() noexcept;
  void run_split() noexcept;
  Rows& gathered(Size slot, Size head, Size end) noexcept;
  KeyBlock<S> block(Size head, Size at) const noexcept {
    return call_.block(head / call_.shape.n_kv_heads, head % call_.shape.n_kv_heads, at);
  }
  const Blocks& blocks(Size head) const noexcept { return blocks_[head / call_.shape.n_kv_heads]; }
  kernels::RowState<T>& partial(Size head, Size at) const noexcept {
    return partials_[head * most_blocks_ + at - blocks(head).begin];
  }

  const KvCall<S>& call_;
  Size slots_, most_blocks_;
  Rows* rows_;                                // [slots]
  Blocks* blocks_;                            // [batch]
  kernels::RowState<T>* partials_ = nullptr;  // [heads][most_blocks], for few rows
  Size* runs_left_ = nullptr;                 // [heads], the same
  CachedPlan plan_{};
};

}  // namespace rapt
