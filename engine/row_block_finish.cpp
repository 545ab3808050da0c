// What a row block gives once its rows are known whole: out, lse and weights, steps 6 and 7 of the numeric
// contract.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention_call.hpp"
#include "kv_cache_call.hpp"
#include "row_block.hpp"

namespace rapt {

using kernels::block_keys;

template <class Call>
void RowBlock<Call>::finish() noexcept {
  if (finishes_) {
    // The kernel leaves the rows that need no sum.
    const Size* const seen = state_.seen;
#pragma GCC unroll 4
    for (Size r = 0, rows = rows_; r < rows; ++r)
      if (seen[r] <= 1) write_out(r, place_of(first_ + r));
  } else {
    each_row([this](Size r, Place place) { write_out(r, place); });
  }
  if (call_.options.lse) each_row([this](Size r, Place place) { write_lse(r, place); });
  if (call_.options.weights) finish_weights();
}

template <class Call>
void RowBlock<Call>::write_out(Size r, const Place& place) noexcept {
  const Size v_dim = call_.shape.v_dim, stride = call_.out.strides[3];
  T* const out = &call_.out(b_, place.h, place.i, 0);
  const T* const acc = state_.acc + r * state_.acc_stride;
  const T sum = state_.row_sum[r];
  if (state_.seen[r] == 0) {
    for (Size j = 0; j < v_dim; ++j) out[j * stride] = T(0);
  } else if (state_.seen[r] == 1 && sum == sum) {
    call_.copy_value(b_, hkv_, state_.last_seen[r], out, stride);
  } else if (finishes_) {
    // One key of a NaN weight: the kernel has divided.
  } else if (stride == 1) {
    call_.kernels.divide(acc, sum, out, v_dim);
  } else {
    call_.kernels.divide(acc, sum, line_, v_dim);
    for (Size j = 0; j < v_dim; ++j) out[j * stride] = line_[j];
  }
}

template <class Call>
void RowBlock<Call>::write_lse(Size r, const Place& place) noexcept {
  constexpr double ln2 = 0.6931471805599453;
  const double max = static_cast<double>(state_.row_max[r]), sum = static_cast<double>(state_.row_sum[r]);
  (*call_.options.lse)(b_, place.h, place.i) = state_.seen[r] == 0
                                                   ? -std::numeric_limits<T>::infinity()
                                                   : static_cast<T>((max + std::log2(sum)) * ln2);
}

template <class Call>
void RowBlock<Call>::finish_weights() noexcept {
  each_row([this](Size r, Place place) {
    finish_row_weights(r);
    if (streams_weights()) {
      call_.kernels.stream_row({.from = row_options_[r].weights,
                                .to = &(*call_.options.weights)(b_, place.h, place.i, 0),
                                .begin = row_[r].begin,
                                .end = row_[r].end,
                                .count = call_.shape.kv_len});
    }
  });
  if (streams_weights()) call_.kernels.end_stream();
}

template <class Call>
void RowBlock<Call>::finish_row_weights(Size r) noexcept {
  const kernels::AttendRow& row = row_[r];
  T* const weights = row_options_[r].weights;
  const Size stride = call_.modifiers.weights_stride;
  if (state_.seen[r] == 0) {
    for (Size j = row.begin; j < row.end; ++j) weights[call_.key_index(b_, j) * stride] = T(0);
    return;
  }
  for (Size start = row.begin; start < row.end;) {
    const Size block = start / block_keys, end = std::min(row.end, (block + 1) * block_keys);
    if (call_.columns(b_) == nullptr && stride == 1) {
      finish_segment(weights + start, end - start, row_options_[r].block_max[block], state_.row_max[r],
                     state_.row_sum[r]);
    } else {
      for (Size j = start; j < end; ++j) line_[j - start] = weights[call_.key_index(b_, j) * stride];
      finish_segment(line_, end - start, row_options_[r].block_max[block], state_.row_max[r],
                     state_.row_sum[r]);
      for (Size j = start; j < end; ++j) weights[call_.key_index(b_, j) * stride] = line_[j - start];
    }
    start = end;
  }
}

// A hidden key's weight stands as -0 until here. It becomes +0, and it alone stays 0 in a row of NaN.
template <class Call>
void RowBlock<Call>::finish_segment(T* weights, Size keys, T block_max, T row_max, T row_sum) noexcept {
  if (row_sum == row_sum) {
    call_.kernels.finish_weights(weights, keys, block_max, row_max, row_sum);
    return;
  }
  for (Size j = 0; j < keys; ++j)
    weights[j] = weights[j] == T(0) && std::signbit(weights[j]) ? T(0) : row_sum;
}

template void RowBlock<AttentionCall<float, float>>::finish() noexcept;
template void RowBlock<AttentionCall<double, double>>::finish() noexcept;
template void RowBlock<AttentionCall<float, bf16>>::finish() noexcept;
template void RowBlock<AttentionCall<float, f16>>::finish() noexcept;
template void RowBlock<KvCall<float>>::finish() noexcept;
template void RowBlock<KvCall<double>>::finish() noexcept;
template void RowBlock<KvCall<bf16>>::finish() noexcept;
template void RowBlock<KvCall<f16>>::finish() noexcept;

}  // namespace rapt
