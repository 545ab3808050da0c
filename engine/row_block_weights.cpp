// The weights of a row block, once its rows are known whole: step 7 of the numeric contract.
#include <algorithm>
#include <cmath>

#include "attention_call.hpp"
#include "kv_cache_call.hpp"
#include "row_block.hpp"

namespace rapt {

using kernels::block_keys;

template <class Call>
void RowBlock<Call>::finish_weights() noexcept {
  for (Size r = 0; r < rows_; ++r) {
    finish_row_weights(r);
    if (streams_weights()) {
      call_.kernels.stream_row({.from = row_options_[r].weights,
                                .to = &(*call_.options.weights)(b_, place_[r].h, place_[r].i, 0),
                                .begin = row_[r].begin,
                                .end = row_[r].end,
                                .count = call_.shape.kv_len});
    }
  }
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

template void RowBlock<AttentionCall<float, float>>::finish_weights() noexcept;
template void RowBlock<AttentionCall<double, double>>::finish_weights() noexcept;
template void RowBlock<AttentionCall<float, bf16>>::finish_weights() noexcept;
template void RowBlock<AttentionCall<float, f16>>::finish_weights() noexcept;
template void RowBlock<KvCall<float>>::finish_weights() noexcept;
template void RowBlock<KvCall<double>>::finish_weights() noexcept;
template void RowBlock<KvCall<bf16>>::finish_weights() noexcept;
template void RowBlock<KvCall<f16>>::finish_weights() noexcept;

}  // namespace rapt
