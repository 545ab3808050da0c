#include "row_block.hpp"

#include <algorithm>
#include <limits>

#include "attention_call.hpp"
#include "kv_cache_call.hpp"

namespace rapt {

using kernels::block_keys;

template <class Call>
auto RowBlock<Call>::carve_state(const Call& call, Size capacity, Carver& memory) -> kernels::RowState<T> {
  const Size acc_stride = round_up(call.shape.v_dim, call.kernels.NR);
  kernels::RowState<T> state;
  state.acc_stride = acc_stride;
  state.row_max = memory.take<T>(capacity);
  state.row_sum = memory.take<T>(capacity);
  state.acc = memory.take<T>(element_count(capacity, acc_stride));
  state.seen = memory.take<Size>(capacity);
  state.last_seen = memory.take<Size>(capacity);
  return state;
}

// An odd number of cache lines, so that the rows of a tile never share an L1 set.
template <class Call>
Size copied_q_stride(const Call& call) noexcept {
  constexpr Size line = alignment / static_cast<Size>(sizeof(typename Call::Element));
  return (round_up(call.shape.head_dim, line) / line | 1) * line;
}

// More bytes of weights than this do not wait in a cache for the caller. Written where they belong, they
// would push packed keys and values out of L2 twice, unfinished and finished; so a row is finished in
// scratch.
constexpr Size most_cached_weights = 16 << 20;

template <class Call>
bool weights_leave_caches(const Call& call) noexcept {
  const double rows = static_cast<double>(call.shape.rows()) * static_cast<double>(call.shape.heads());
  const double bytes = rows * static_cast<double>(call.shape.kv_len) * sizeof(typename Call::Element);
  return call.options.weights->strides[3] == 1 && bytes > static_cast<double>(most_cached_weights);
}

template <class Call>
RowBlock<Call>::RowBlock(const Call& call, Size capacity, Carver& memory)
    : call_(call),
      q_copy_(
          memory.take<T>(element_count(round_up(capacity, kernels::row_multiple), copied_q_stride(call)))),
      row_(memory.take<kernels::AttendRow>(capacity)),
      state_(carve_state(call, capacity, memory)),
      scratch_(memory.take<T>(call.kernels.attend_scratch)),
      line_(memory.take<T>(std::max(call.shape.v_dim, block_keys))) {
  const auto& options = call.options;
  if (options.alibi_slopes || options.bias || options.attend || options.weights || options.scores)
    row_options_ = memory.take<kernels::RowOptions<T>>(capacity);
  if (options.weights) {
    key_blocks_ = (call.shape.kv_len + block_keys - 1) / block_keys;
    block_max_ = memory.take<T>(element_count(capacity, key_blocks_));
    if (weights_leave_caches(call))
      streamed_weights_ = memory.take<T>(element_count(capacity, call.shape.kv_len));
  }
}

template <class Call>
void RowBlock<Call>::gather(Size b, Size hkv, Size first, Size last) noexcept {
  b_ = b, hkv_ = hkv, first_ = first, last_ = last;
  first_place_ = place_of(first);
  finishes_ = false;
  offer_keys();
  if (row_options_ != nullptr) each_row([this](Size r, Place place) { add_options(r, place); });
  if (q_readable_in_place(last - first)) {
    q_ = &call_.q(b, hkv, first, 0);
    q_stride_ = call_.q.strides[2];
  } else {
    copy_queries();
  }
  clear_state(state_, rows_);
}

// Of the rows that are offered any keys, the first is offered the earliest and the last the latest.
template <class Call>
void RowBlock<Call>::offer_keys() noexcept {
  const auto offered = call_.offered_in(b_);
  kernels::AttendRow* const row = row_;
  Size rows = 0;
  if (one_head_in_full()) {
    for (Size i = first_, end = last_; i < end; ++i) {
      const Offered keys = offered(i);
      row[rows++] = {keys.begin, keys.end};
    }
  } else {
    const Size group = call_.shape.group_size;
    for (Size r = first_, i = first_place_.i, last = last_; r < last; ++i) {
      const Offered keys = offered(i);
      const Size end = std::min((i + 1) * group, last), skip = computed(i) ? 0 : end - r;
      for (r += skip; r < end; ++r) row[rows++] = {keys.begin, keys.end};
    }
  }
  rows_ = rows;

  Size empty = 0;
  while (empty < rows && row[empty].end == 0) ++empty;
  while (empty < rows && row[rows - 1].end == 0) --rows;
  offered_ = empty < rows ? Offered{row[empty].begin, row[rows - 1].end} : Offered{0, 0};
}

// Then nothing is left to fold, and the sums need not pass through memory of ours: a quarter of what a head
// of 64 rows would otherwise touch of it. The kernel writes whole vectors, row by row.
template <class Call>
bool RowBlock<Call>::kernel_finishes() const noexcept {
  return offered_.begin / block_keys * block_keys + block_keys >= offered_.end && one_head_in_full() &&
         call_.out.strides[3] == 1 && round_up(call_.shape.v_dim, call_.kernels.NR) == call_.shape.v_dim;
}

template <class Call>
void RowBlock<Call>::add_options(Size r, const Place& place) const noexcept {
  const auto& options = call_.options;
  const auto [h, i] = place;
  kernels::RowOptions<T>& row = row_options_[r];
  row = {};
  if (call_.shape.kv_len == 0) return;  // arrays over pairs have no elements then, and may be null
  if (options.alibi_slopes) row.slope = (*options.alibi_slopes)(h);
  if (options.bias) row.bias = &call_.bias(b_, h, i, 0);
  if (options.attend) row.attend = &call_.attend(b_, h, i, 0);
  if (options.scores) row.scores = &(*options.scores)(b_, h, i, 0);
  if (!options.weights) return;
  row.weights =
      streams_weights() ? streamed_weights_ + r * call_.shape.kv_len : &(*options.weights)(b_, h, i, 0);
  row.block_max = block_max_ + r * key_blocks_;
  std::fill_n(row.block_max, key_blocks_, -std::numeric_limits<T>::infinity());
}

// As many rows as the kernel reads, side by side and not all in the same few L1 sets.
template <class Call>
bool RowBlock<Call>::q_readable_in_place(Size rows) const noexcept {
  constexpr Size elements = 2048 / static_cast<Size>(sizeof(T));
  return rows_read(rows) == rows && one_head_in_full() && call_.q.strides[3] == 1 &&
         call_.q.strides[2] % elements != 0;
}

template <class Call>
void RowBlock<Call>::copy_queries() noexcept {
  const Size copy_stride = copied_q_stride(call_), stride = call_.q.strides[3],
             head_dim = call_.shape.head_dim;
  each_row([=, this](Size r, Place place) {
    const T* q = &call_.q(b_, place.h, place.i, 0);
    T* copy = q_copy_ + r * copy_stride;
    if (stride == 1) {
      std::copy_n(q, head_dim, copy);
    } else {
      for (Size u = 0; u < head_dim; ++u) copy[u] = q[u * stride];
    }
  });
  // What the kernel reads and drops is 0, so that nothing slow (a subnormal) or strange stands there.
  std::fill_n(q_copy_ + rows_ * copy_stride, (rows_read(rows_) - rows_) * copy_stride, T(0));
  q_ = q_copy_;
  q_stride_ = copy_stride;
}

template <class Call>
void RowBlock<Call>::prefill() noexcept {
  if (!call_.options.weights && !call_.options.scores && !call_.options.query_mask) return;
  const auto offered = call_.offered_in(b_);
  for (Size r = first_; r < last_; ++r) {
    const Place place = place_of(r);
    const Offered keys = offered(place.i);
    if (call_.options.weights && !(streams_weights() && computed(place.i)))
      fill_unseen(*call_.options.weights, place, keys, T(0));
    if (call_.options.scores)
      fill_unseen(*call_.options.scores, place, keys, -std::numeric_limits<T>::infinity());
    if (computed(place.i)) continue;
    for (Size j = 0; j < call_.shape.v_dim; ++j) call_.out(b_, place.h, place.i, j) = T(0);
    if (call_.options.lse) (*call_.options.lse)(b_, place.h, place.i) = -std::numeric_limits<T>::infinity();
    skipped_pairs_ += keys.end - keys.begin;
  }
}

// Kernels write every key of the row's interval; without padding the rest is what lies outside it.
template <class Call>
void RowBlock<Call>::fill_unseen(const View<T, 4>& pairs, const Place& place, const Offered& keys,
                                 T value) noexcept {
  if (call_.shape.kv_len == 0) return;
  const bool interval_is_written = call_.columns(b_) == nullptr && computed(place.i);
  const Size skip_from = interval_is_written ? keys.begin : 0, skip_to = interval_is_written ? keys.end : 0;
  T* row = &pairs(b_, place.h, place.i, 0);
  const auto fill = [row, value, stride = pairs.strides[3]](Size first, Size last) {
    if (stride == 1) {
      std::fill(row + first, row + last, value);
    } else {
      for (Size j = first; j < last; ++j) row[j * stride] = value;
    }
  };
  fill(0, skip_from);
  fill(skip_to, call_.shape.kv_len);
}

template <class Call>
void RowBlock<Call>::attend(Size block, const Keys& keys) noexcept {
  kernels::RowState<T> state = state_;
  finishes_ = kernel_finishes();
  if (finishes_) {
    state.acc = &call_.out(b_, hkv_, first_, 0);
    state.acc_stride = call_.out.strides[2];
  }
  attend(block, keys, state, finishes_);
}

template <class Call>
void RowBlock<Call>::attend(Size block, const Keys& keys, const kernels::RowState<T>& state,
                            bool finishes) noexcept {
  call_.attend_block({.rows = rows_,
                      .row = row_,
                      .options = row_options_,
                      .q = q_,
                      .q_stride = q_stride_,
                      .k = keys.k,
                      .k_stride = call_.shape.head_dim * call_.kernels.NR,
                      .v = keys.v,
                      .v_stride = keys.v_stride,
                      .v_key_stride = keys.v_key_stride,
                      .far = call_.far,
                      .in_memory = call_.in_memory,
                      .head_dim = call_.shape.head_dim,
                      .v_dim = call_.shape.v_dim,
                      .block_start = block * block_keys,
                      .keys = call_.keys_in(b_, block),
                      .column = call_.columns(b_),
                      .scale = call_.factors.scale,
                      .c = call_.factors.c,
                      .modifiers = &call_.modifiers,
                      .state = state,
                      .finishes = finishes,
                      .counts = &counts_,
                      .scratch = scratch_,
                      .ahead = &ahead_});
}

template <class Call>
void RowBlock<Call>::fold(const kernels::RowState<T>& partial) noexcept {
  call_.kernels.fold({.rows = rows_, .v_dim = call_.shape.v_dim, .into = state_, .block = partial});
}

template class RowBlock<AttentionCall<float, float>>;
template class RowBlock<AttentionCall<double, double>>;
template class RowBlock<AttentionCall<float, bf16>>;
template class RowBlock<AttentionCall<float, f16>>;
template class RowBlock<KvCall<float>>;
template class RowBlock<KvCall<double>>;
template class RowBlock<KvCall<bf16>>;
template class RowBlock<KvCall<f16>>;

}  // namespace rapt
