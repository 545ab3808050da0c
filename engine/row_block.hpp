// Some query rows of one KV head on their way through attention: gathered, attended block by block, finished.
#pragma once

#include "key_block.hpp"

namespace rapt {

/// Memory and verbs for up to `capacity` rows. One a thread.
/// Call says where rows come from and where results go: AttentionCall, or KvCall over a cache's stored
/// blocks.
template <class Call>
class RowBlock {
 public:
  using T = typename Call::Element;
  using Keys = KeyBlock<typename Call::Panel>;

  /// Carves what it needs.
  RowBlock(const Call& call, Size capacity, Carver& memory);

  /// Takes the rows [first, last) of a KV head (plan.hpp numbers them): copies q, empties the state. Rows
  /// behind query_mask are dropped. Writes nothing of the caller's.
  void gather(Size b, Size hkv, Size first, Size last) noexcept;
  /// Writes what no key will: rows behind query_mask, and what a row does not see of weights and scores.
  void prefill() noexcept;

  /// All positions that some gathered row is offered; begin == end when none is.
  Offered offered() const noexcept { return offered_; }
  /// Attends to one packed block, into the rows' own state or into a Partial's.
  void attend(Size block, const Keys& keys) noexcept;
  void attend(Size block, const Keys& keys, const kernels::RowState<T>& partial) noexcept {
    attend(block, keys, partial, false);
  }
  /// From now on kernels ask for this memory as they go.
  void ask_for(const kernels::Ahead& ahead) noexcept { ahead_ = ahead; }
  /// Folds a Partial behind the state.
  void fold(const kernels::RowState<T>& partial) noexcept;
  /// Writes out, weights and lse.
  void finish() noexcept;

  /// A Partial's memory for `capacity` rows.
  static kernels::RowState<T> carve_state(const Call& call, Size capacity, Carver& memory);
  static void clear_state(const kernels::RowState<T>& state, Size rows) noexcept {
    std::fill_n(state.seen, rows, Size{0});
  }

  /// Pairs that kernels worked on, over this object's life.
  const kernels::PairCounts& counts() const noexcept { return counts_; }
  /// Pairs of rows behind query_mask, which prefill finishes without work.
  Size skipped_pairs() const noexcept { return skipped_pairs_; }

 private:
  struct Place {  // of a row in the caller's arrays
    Size h, i;
  };
  Place place_of(Size r) const noexcept {
    const Size group = call_.shape.group_size;
    return {hkv_ * group + r % group, r / group};
  }
  /// Rows that follow each other in the caller's arrays, none dropped.
  bool one_head_in_full() const noexcept { return call_.shape.group_size == 1 && !call_.options.query_mask; }
  bool computed(Size i) const noexcept {
    return !call_.options.query_mask || (*call_.options.query_mask)(b_, i);
  }
  /// Calls visit(r, place) for each gathered row. Of values in registers: what visit stores might change
  /// members, for all that the compiler knows.
  template <class Visit>
  void each_row(Visit visit) const noexcept {
    const Size first_head = hkv_ * call_.shape.group_size, end_head = first_head + call_.shape.group_size;
    const bool none_dropped = !call_.options.query_mask;
    Place place = first_place_;
    for (Size r = 0, rows = rows_; r < rows;) {
      if (none_dropped || computed(place.i)) visit(r++, place);
      if (++place.h == end_head) place = {first_head, place.i + 1};
    }
  }
  void attend(Size block, const Keys& keys, const kernels::RowState<T>& state, bool finishes) noexcept;
  static Size rows_read(Size rows) noexcept { return kernels::rows_read<T, typename Call::Panel>(rows); }
  bool q_readable_in_place(Size rows) const noexcept;
  void add_options(Size r, const Place& place) const noexcept;
  bool kernel_finishes() const noexcept;
  void offer_keys() noexcept;
  void copy_queries() noexcept;
  void fill_unseen(const View<T, 4>& pairs, const Place& place, const Offered& keys, T value) noexcept;
  bool streams_weights() const noexcept {
    return streamed_weights_ != nullptr && call_.columns(b_) == nullptr;
  }
  // In row_block_finish.cpp, with finish():
  void write_out(Size r, const Place& place) noexcept;
  void write_lse(Size r, const Place& place) noexcept;
  void finish_weights() noexcept;
  void finish_row_weights(Size r) noexcept;
  void finish_segment(T* weights, Size keys, T block_max, T row_max, T row_sum) noexcept;

  const Call& call_;
  T* q_copy_;
  const T* q_ = nullptr;  // q_copy_, or the caller's rows
  Size q_stride_ = 0;
  kernels::AttendRow* row_;
  kernels::RowOptions<T>* row_options_ = nullptr;  // where there are any
  kernels::RowState<T> state_;
  T* block_max_ = nullptr;  // [capacity][key blocks], with weights
  Size key_blocks_ = 0;
  T* streamed_weights_ = nullptr;  // [capacity][kv_len], where weights leave past the caches
  T* scratch_;
  T* line_;                                      // one row of out, or one block of weights
  Size b_ = 0, hkv_ = 0, first_ = 0, last_ = 0;  // what was gathered
  Place first_place_{0, 0};                      // of first_
  Size rows_ = 0;                                // of those, not behind query_mask
  kernels::Ahead ahead_;
  kernels::PairCounts counts_{0, 0};
  Size skipped_pairs_ = 0;
  Offered offered_{0, 0};
  bool finishes_ = false;  // attend leaves results in out
};

}  // namespace rapt
