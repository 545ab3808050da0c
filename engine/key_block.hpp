// A block of 256 keys and values of one KV head as kernels read them, and how attention() makes one of the
// caller's K and V.
#pragma once

#include "attention_call.hpp"
#include "workspace.hpp"

namespace rapt {

/// K and V of one block of keys as kernels read them.
template <class T>
struct KeyBlock {
  const T* k;  // [panels of keys][head_dim][NR]
  const T* v;  // packed [panels of columns][block_keys][NR], or rows of the caller's V
  Size v_stride, v_key_stride;
};

/// Elements of a packed block, K and V, about to be allocated.
template <class T, class S>
Size key_block_elements(const AttentionCall<T, S>& call) {
  return element_count(kernels::block_keys,
                       call.shape.head_dim + round_up(call.shape.v_dim, call.kernels.NR));
}

/// A block that was packed into `memory`.
template <class T, class S>
KeyBlock<T> packed_block(const AttentionCall<T, S>& call, const T* memory) noexcept {
  const Size NR = call.kernels.NR;
  return {memory, memory + kernels::block_keys * call.shape.head_dim, kernels::block_keys * NR, NR};
}

/// Packs the real keys at positions [block * block_keys, ...) of one KV head into `memory`. Nothing behind a
/// padding mask is read.
template <class T, class S>
void pack_key_block(const AttentionCall<T, S>& call, Size b, Size hkv, Size block, T* memory) noexcept;

/// The same for a block that is read by one row block only: rows of V that kernels can read stay where they
/// are.
template <class T, class S>
KeyBlock<T> stream_key_block(const AttentionCall<T, S>& call, Size b, Size hkv, Size block,
                             T* memory) noexcept;

}  // namespace rapt
