// Some query rows of one KV head on their way through attention: gathered, attended block by block, finished.
#pragma once

#include "attention_call.hpp"
#include "workspace.hpp"

namespace rapt {

/// Packed K and V of one block of keys.
template <class T>
struct KeyBlock {
  T* k;  // [panels of keys][head_dim][NR]
  T* v;  // [panels of columns][block_keys][NR]
};

/// Elements of a packed block, K and V.
template <class T, class S>
Size key_block_elements(const AttentionCall<T, S>& call) noexcept {
  return kernels::block_keys * (call.shape.head_dim + round_up(call.shape.v_dim, call.kernels.NR));
}

template <class T, class S>
KeyBlock<T> key_block_at(const AttentionCall<T, S>& call, T* memory) noexcept {
  return {memory, memory + kernels::block_keys * call.shape.head_dim};
}

/// Packs the real keys at positions [block * block_keys, ...) of one KV head. Nothing behind a padding mask
/// is read.
template <class T, class S>
void pack_key_block(const AttentionCall<T, S>& call, Size b, Size hkv, Size block, KeyBlock<T> to) noexcept;

/// Memory and verbs for up to `capacity` rows. One a thread.
template <class T, class S>
class RowBlock {
 public:
  /// Carves what it needs.
  RowBlock(const AttentionCall<T, S>& call, Size capacity, Carver& memory);

  /// Takes the rows [first, last) of a KV head (plan.hpp numbers them): copies q, empties the state. Rows
  /// behind query_mask are dropped. Writes nothing of the caller's.
  void gather(Size b, Size hkv, Size first, Size last) noexcept;
  /// Writes what no key will: rows behind query_mask, and what a row does not see of weights and scores.
  void prefill() noexcept;

  /// All positions that some gathered row is offered; begin == end when none is.
  Offered offered() const noexcept { return offered_; }
  /// Attends to one packed block, into the rows' own state or into a Partial's.
  void attend(Size block, KeyBlock<T> keys) noexcept { attend(block, keys, state_); }
  void attend(Size block, KeyBlock<T> keys, const kernels::RowState<T>& state) noexcept;
  /// Folds a Partial behind the state.
  void fold(const kernels::RowState<T>& partial) noexcept;
  /// Writes out, weights and lse.
  void finish() noexcept;

  /// A Partial's memory for `capacity` rows.
  static kernels::RowState<T> carve_state(const AttentionCall<T, S>& call, Size capacity, Carver& memory);
  static void clear_state(const kernels::RowState<T>& state, Size rows) noexcept {
    std::fill_n(state.seen, rows, Size{0});
  }

  /// Pairs that kernels worked on, over this object's life.
  const kernels::PairCounts& counts() const noexcept { return counts_; }
  /// Pairs of rows behind query_mask, which prefill finishes without work.
  Size skipped_pairs() const noexcept { return skipped_pairs_; }

 private:
  struct Place {  // of a gathered row in the caller's arrays
    Size h, i;
  };
  Place place_of(Size r) const noexcept {
    const Size group = call_.shape.group_size();
    return {hkv_ * group + r % group, r / group};
  }
  bool computed(const Place& place) const noexcept {
    return !call_.options.query_mask || (*call_.options.query_mask)(b_, place.i);
  }
  void fill_unseen(const View<T, 4>& pairs, const Place& place, const Offered& keys, T value) noexcept;
  void finish_weights(Size r) noexcept;
  void finish_segment(T* weights, Size keys, T block_max, T row_max, T row_sum) noexcept;

  const AttentionCall<T, S>& call_;
  Size q_stride_;
  T* q_;
  kernels::AttendRow<T>* row_;
  Place* place_;
  kernels::RowState<T> state_;
  T* block_max_ = nullptr;  // [capacity][key blocks], with weights
  Size key_blocks_ = 0;
  T* scratch_;
  T* line_;                                      // one row of out, or one block of weights
  Size b_ = 0, hkv_ = 0, first_ = 0, last_ = 0;  // what was gathered
  Size rows_ = 0;                                // of those, not behind query_mask
  kernels::PairCounts counts_{0, 0};
  Size skipped_pairs_ = 0;
  Offered offered_{0, 0};
};

}  // namespace rapt
