#include "kv_cache_run.hpp"

#include <algorithm>
#include <memory>

#include "run.hpp"

namespace rapt {

using kernels::block_keys;

// Partials are carved for all that the ring holds, so that a growing sequence never needs more.
template <class S>
KvRun<S>::KvRun(const KvCall<S>& call, Size most_rows, Size slots, Carver& memory)
    : call_(call),
      slots_(slots),
      // A run of neighbouring slots that starts inside a block ends in one more.
      most_blocks_(call.store.layout().ring.blocks + 1),
      rows_(memory.take<Rows>(slots)),
      blocks_(memory.take<Blocks>(call.shape.batch)) {
  AttentionShape shape = call.shape;
  shape.q_len = most_rows;
  const CachedPlan plan = plan_cached(shape, most_blocks_);
  const Size capacity = std::min(shape.rows(), plan.row_block);
  for (Size slot = 0; slot < slots; ++slot) {
    if (rows_ != nullptr)
      std::construct_at(rows_ + slot, call, capacity, memory);
    else
      static_cast<void>(Rows(call, capacity, memory));
  }
  if (!plan.split) return;
  const Size partials = element_count(shape.heads(), most_blocks_);
  runs_left_ = memory.take<Size>(shape.heads());
  partials_ = memory.take<kernels::RowState<T>>(partials);
  for (Size i = 0; i < partials; ++i) {
    const kernels::RowState<T> state = Rows::carve_state(call, capacity, memory);
    if (partials_ != nullptr) partials_[i] = state;
  }
}

template <class S>
void KvRun<S>::run() noexcept {
  Size key_blocks = 0;
  for (Size b = 0; b < call_.shape.batch; ++b) {
    const Offered keys = call_.offered_to_all(b);
    blocks_[b] = {keys.begin / block_keys, (keys.end + block_keys - 1) / block_keys};
    key_blocks = std::max(key_blocks, blocks_[b].end - blocks_[b].begin);
  }
  plan_ = plan_cached(call_.shape, key_blocks);
  if (plan_.split && partials_ != nullptr)
    run_split();
  else
    run_rows();
}

template <class S>
Size KvRun<S>::pairs() const noexcept {
  Size pairs = 0;
  for (Size slot = 0; slot < slots_; ++slot) pairs += rows_[slot].counts().offered;
  return pairs;
}

/// One item a row block, from its first stored block to its last.
template <class S>
void KvRun<S>::run_rows() noexcept {
  run_items(call_.shape.heads() * plan_.row_blocks, slots_, [&](Size slot, Size item) {
    const Size head = item / plan_.row_blocks;
    // From the end: the last rows see the most keys, and the block that is not full the fewest.
    Rows& rows = gathered(slot, head, call_.shape.rows() - item % plan_.row_blocks * plan_.row_block);
    const Offered offered = rows.offered();
    for (Size at = offered.begin / block_keys; at * block_keys < offered.end; ++at)
      rows.attend(at, block(head, at));
    rows.finish();
  });
}

/// One item a run of blocks, each block giving a Partial; a head's Partials are folded in position order.
template <class S>
void KvRun<S>::run_split() noexcept {
  run_parts(
      call_.shape.heads(), plan_.runs, slots_, runs_left_,
      [&](Size slot, Size head, Size run) {
        const Size first = blocks(head).begin + run * plan_.run;
        const Size last = std::min(first + plan_.run, blocks(head).end);
        if (first >= last) return;
        Rows& rows = gathered(slot, head, call_.shape.rows());
        for (Size at = first; at < last; ++at) {
          const kernels::RowState<T>& into = partial(head, at);
          Rows::clear_state(into, call_.shape.rows());
          rows.attend(at, block(head, at), into);
        }
      },
      [&](Size slot, Size head) {
        Rows& rows = gathered(slot, head, call_.shape.rows());
        for (Size at = blocks(head).begin; at < blocks(head).end; ++at) rows.fold(partial(head, at));
        rows.finish();
      });
}

template <class S>
auto KvRun<S>::gathered(Size slot, Size head, Size end) noexcept -> Rows& {
  rows_[slot].gather(head / call_.shape.n_kv_heads, head % call_.shape.n_kv_heads,
                     std::max(end - plan_.row_block, Size{0}), end);
  return rows_[slot];
}

template class KvRun<float>;
template class KvRun<double>;
template class KvRun<bf16>;
template class KvRun<f16>;

}  // namespace rapt
