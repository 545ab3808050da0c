#include "key_block.hpp"

#include <algorithm>

namespace rapt {

using kernels::block_keys;

namespace {

/// Where a block's keys lie in the caller's arrays: `index` from element `first` of the key axis, or side by
/// side from there.
struct BlockKeys {
  Size first, keys;
  const Size* index;
};

BlockKeys keys_of_block(const SequenceKeys& sequence, Size block) noexcept {
  const Size start = block * block_keys, keys = std::min(block_keys, sequence.count - start);
  if (sequence.index == nullptr) return {start, keys, nullptr};
  return {0, keys, sequence.index + start};
}

template <class T, class S>
void pack_keys(const AttentionCall<T, S>& call, Size b, Size hkv, const BlockKeys& block,
               T* memory) noexcept {
  call.pack({.source = &call.k(b, hkv, block.first, 0),
             .step_stride = call.k.strides[3],
             .column_stride = call.k.strides[2],
             .step_index = nullptr,
             .column_index = block.index,
             .steps = call.shape.head_dim,
             .columns = block.keys,
             .panels = memory,
             .panel_stride = call.shape.head_dim * call.kernels.NR});
}

template <class T, class S>
void pack_values(const AttentionCall<T, S>& call, Size b, Size hkv, const BlockKeys& block,
                 T* memory) noexcept {
  call.pack({.source = &call.v(b, hkv, block.first, 0),
             .step_stride = call.v.strides[2],
             .column_stride = call.v.strides[3],
             .step_index = block.index,
             .column_index = nullptr,
             .steps = block.keys,
             .columns = call.shape.v_dim,
             .panels = memory + block_keys * call.shape.head_dim,
             .panel_stride = block_keys * call.kernels.NR});
}

}  // namespace

template <class T, class S>
void pack_key_block(const AttentionCall<T, S>& call, Size b, Size hkv, Size block, T* memory) noexcept {
  const BlockKeys keys = keys_of_block(call.sequences[static_cast<std::size_t>(b)], block);
  pack_keys(call, b, hkv, keys, memory);
  pack_values(call, b, hkv, keys, memory);
}

template <class T, class S>
KeyBlock<T> stream_key_block(const AttentionCall<T, S>& call, Size b, Size hkv, Size block,
                             T* memory) noexcept {
  const BlockKeys keys = keys_of_block(call.sequences[static_cast<std::size_t>(b)], block);
  pack_keys(call, b, hkv, keys, memory);
  if constexpr (std::is_same_v<T, S>) {
    const Size NR = call.kernels.NR;
    if (keys.index == nullptr && call.v.strides[3] == 1 && call.shape.v_dim % NR == 0)
      return {memory, &call.v(b, hkv, keys.first, 0), NR, call.v.strides[2]};
  }
  pack_values(call, b, hkv, keys, memory);
  return packed_block(call, memory);
}

template void pack_key_block(const AttentionCall<float, float>&, Size, Size, Size, float*) noexcept;
template KeyBlock<float> stream_key_block(const AttentionCall<float, float>&, Size, Size, Size,
                                          float*) noexcept;
template void pack_key_block(const AttentionCall<double, double>&, Size, Size, Size, double*) noexcept;
template KeyBlock<double> stream_key_block(const AttentionCall<double, double>&, Size, Size, Size,
                                           double*) noexcept;
template void pack_key_block(const AttentionCall<float, bf16>&, Size, Size, Size, float*) noexcept;
template KeyBlock<float> stream_key_block(const AttentionCall<float, bf16>&, Size, Size, Size,
                                          float*) noexcept;
template void pack_key_block(const AttentionCall<float, f16>&, Size, Size, Size, float*) noexcept;
template KeyBlock<float> stream_key_block(const AttentionCall<float, f16>&, Size, Size, Size,
                                          float*) noexcept;

}  // namespace rapt
