// One attention call, checked and with its defaults filled in: what the row blocks and the packing read.
#pragma once

#include <rapt/attention.hpp>

#include <vector>

#include "kernels/kernel_table.hpp"
#include "mask.hpp"
#include "plan.hpp"
#include "score_factors.hpp"
#include "widen.hpp"

namespace rapt {

/// `view` with the extents of `extents`; an axis of extent 1 is repeated by stride 0.
template <class E>
View<E, 4> broadcast_to(View<E, 4> view, const std::array<std::ptrdiff_t, 4>& extents) noexcept {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (view.extents[axis] == 1) view.strides[axis] = 0;
    view.extents[axis] = extents[axis];
  }
  return view;
}

/// T is the type of q, out and the arithmetic; S the storage of k and v.
template <class T, class S>
struct AttentionCall {
  using Element = T;
  using Panel = T;  // what packed keys and values are

  const kernels::Kernels<T>& kernels;
  void (*pack)(const kernels::PackArgs<T, S>&) noexcept;
  void (*attend_block)(const kernels::AttendArgs<T>&) noexcept;
  View<const T, 4> q;
  View<const S, 4> k, v;
  View<T, 4> out;
  const AttentionOptions<T>& options;
  AttentionShape shape;
  std::ptrdiff_t window;
  ScoreFactors<T> factors;
  bool far;                                 // K and V, see kernels::is_far; of few rows only
  static constexpr bool in_memory = false;  // panels are packed where they are used
  kernels::Modifiers<T> modifiers;
  View<const bool, 4> attend;  // [batch, n_heads, q_len, kv_len] where given
  View<const T, 4> bias;
  std::vector<SequenceKeys> sequences;       // [batch]
  std::vector<std::ptrdiff_t> real_indices;  // what their index points into

  AttentionCall(const kernels::KernelTable& table, View<const T, 4> q_, View<const S, 4> k_,
                View<const S, 4> v_, View<T, 4> out_, const AttentionOptions<T>& options_)
      : kernels(table.of<T>()),
        pack(kernels::pack_from<T, S>(table)),
        attend_block(kernels.attend),
        q(q_),
        k(k_),
        v(v_),
        out(out_),
        options(options_),
        shape{q.extents[0], q.extents[1], k.extents[1], q.extents[2],
              k.extents[2], q.extents[3], v.extents[3]},
        window(options.window.value_or(no_window)),
        factors(options.scale, shape.head_dim),
        far(shape.rows() <= kernels::few_rows && kernels::is_far(shape.key_value_elements() * sizeof(S))) {
    const std::array<std::ptrdiff_t, 4> pairs{shape.batch, shape.n_heads, shape.q_len, shape.kv_len};
    if (options.attend) attend = broadcast_to(*options.attend, pairs);
    if (options.bias) bias = broadcast_to(*options.bias, pairs);
    const T softcap = options.softcap.value_or(T(0));
    modifiers = {
        .any = options.attend || options.bias || options.alibi_slopes || softcap != T(0) || options.scores,
        .alibi = options.alibi_slopes.has_value(),
        .softcap = softcap,
        .bias_stride = bias.strides[3],
        .attend_stride = attend.strides[3],
        .weights_stride = options.weights ? options.weights->strides[3] : 0,
        .scores_stride = options.scores ? options.scores->strides[3] : 0};
    number_keys();
  }

  /// What each row of a sequence is offered.
  OfferedKeys offered_in(std::ptrdiff_t b) const noexcept {
    return {sequences[static_cast<std::size_t>(b)], options.causal, window, shape.q_len};
  }
  Offered offered_to_all(std::ptrdiff_t b) const noexcept { return offered_in(b).to_rows(shape.q_len); }
  /// Real keys of a block.
  std::ptrdiff_t keys_in(std::ptrdiff_t b, std::ptrdiff_t block) const noexcept {
    return std::min(kernels::block_keys,
                    sequences[static_cast<std::size_t>(b)].count - block * kernels::block_keys);
  }
  /// Null, or the index in k and v of the key at each position.
  const std::ptrdiff_t* columns(std::ptrdiff_t b) const noexcept {
    return sequences[static_cast<std::size_t>(b)].index;
  }
  /// The value at a position, widened.
  void copy_value(std::ptrdiff_t b, std::ptrdiff_t hkv, std::ptrdiff_t position, T* to,
                  std::ptrdiff_t stride) const noexcept {
    const S* from = &v(b, hkv, key_index(b, position), 0);
    for (std::ptrdiff_t j = 0; j < shape.v_dim; ++j) to[j * stride] = widen(from[j * v.strides[3]]);
  }
  /// The index in k and v of the key at a position.
  std::ptrdiff_t key_index(std::ptrdiff_t b, std::ptrdiff_t position) const noexcept {
    const std::ptrdiff_t* index = sequences[static_cast<std::size_t>(b)].index;
    return index == nullptr ? position : index[position];
  }

 private:
  void number_keys() {
    const std::ptrdiff_t all = options.key_mask ? shape.batch * shape.kv_len : 0;
    real_indices.resize(static_cast<std::size_t>(all));
    std::ptrdiff_t* next = real_indices.data();
    for (std::ptrdiff_t b = 0; b < shape.batch; ++b) {
      const std::ptrdiff_t length = options.key_lengths ? (*options.key_lengths)(b) : shape.kv_len;
      SequenceKeys keys{length, length, nullptr};
      if (options.key_mask) {
        keys.index = next;
        for (std::ptrdiff_t j = 0; j < length; ++j)
          if ((*options.key_mask)(b, j)) *next++ = j;
        keys.count = next - keys.index;
      }
      sequences.push_back(keys);
    }
  }
};

}  // namespace rapt
