// The rows of one call over the stored blocks of a KV cache, as RowBlock reads them.
#pragma once

#include "attention_call.hpp"
#include "key_block.hpp"
#include "kv_cache_store.hpp"

namespace rapt {

/// What a call does not ask of a cache.
template <class T>
inline const AttentionOptions<T> no_options{};

/// Rows of one call over stored tokens, as RowBlock reads them.
template <class S>
struct KvCall {
  using Element = ArithmeticOf<S>;
  using Panel = S;

  const KvStore<S>& store;
  const kernels::Kernels<Element>& kernels;
  void (*attend_block)(const kernels::AttendArgs<Element, S>&) noexcept;
  View<const Element, 4> q;
  View<Element, 4> out;
  const AttentionOptions<Element>& options;
  AttentionShape shape;
  ScoreFactors<Element> factors;
  bool far = true, in_memory = true;  // kernels::is_far() and is_in_memory() of what is stored
  kernels::Modifiers<Element> modifiers;
  View<const bool, 4> attend;
  View<const Element, 4> bias;
  const Size*
      ends;  // row i of sequence b sees keys up to ends[b * ends_stride + i] - 1; none where that is 0
  Size ends_stride;

  KvCall(const kernels::KernelTable& table, const KvStore<S>& store_, Size n_heads,
         const std::optional<double>& scale, double softcap)
      : store(store_),
        kernels(table.of<Element>()),
        attend_block(kernels::attend_from<Element, S>(table)),
        options(no_options<Element>),
        shape{store.layout().batch, n_heads, store.layout().n_kv_heads, 0, 0, store.layout().head_dim,
              store.layout().v_dim},
        factors(scale, shape.head_dim),
        modifiers{.any = softcap != 0,
                  .alibi = false,
                  .softcap = static_cast<Element>(softcap),
                  .bias_stride = 0,
                  .attend_stride = 0,
                  .weights_stride = 0,
                  .scores_stride = 0} {}

  /// What each row i of a sequence is offered: a function of i that holds all it needs.
  auto offered_in(Size b) const noexcept {
    return
        [ring = store.layout().ring, end = ends + b * ends_stride](Size i) { return ring.offered(end[i]); };
  }
  /// All that the rows of a sequence are offered. After the first row that sees a key each adds at most one,
  /// so that the union has no gap.
  Offered offered_to_all(Size b) const noexcept {
    Offered all{0, 0};
    const auto offered = offered_in(b);
    for (Size i = 0; i < shape.q_len; ++i) {
      const Offered keys = offered(i);
      if (all.end == 0) all.begin = keys.begin;
      all.end = std::max(all.end, keys.end);
    }
    return all;
  }
  /// Of K and V of so many tokens, of all sequences together.
  double stored_bytes(Size tokens) const noexcept {
    return static_cast<double>(tokens) * static_cast<double>(shape.n_kv_heads) *
           static_cast<double>(shape.head_dim + shape.v_dim) * sizeof(S);
  }
  KeyBlock<S> block(Size b, Size hkv, Size at) const noexcept {
    const KvBlock<S> stored = store.block(b, hkv, at);
    return {stored.k, stored.v, kernels::block_keys * kernels.NR, kernels.NR};
  }
  // Slots behind the last token are never offered.
  Size keys_in(Size, Size) const noexcept { return kernels::block_keys; }
  const Size* columns(Size) const noexcept { return nullptr; }
  Size key_index(Size, Size position) const noexcept { return position; }
  void copy_value(Size b, Size hkv, Size position, Element* to, Size stride) const noexcept {
    const S* from = store.value_at(b, hkv, position);
    for (Size j = 0; j < shape.v_dim; ++j) to[j * stride] = widen(from[store.value_offset(j)]);
  }
};

}  // namespace rapt
