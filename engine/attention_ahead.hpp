// What a call will read and write soon, as memory that the products ask for while they run (kernels::Ahead).
// What is added last is asked for first; asking never faults and changes nothing.
#pragma once

#include "attention_call.hpp"
#include "workspace.hpp"

namespace rapt {

/// Rows [begin, end) of one KV head's array, if there are any and they are one run of memory.
template <class T, class S, class E>
void ask_for_rows(kernels::Ahead& ahead, const AttentionCall<T, S>& call, const View<E, 4>& view, Size head,
                  Size begin, Size end) noexcept {
  if (begin == end || view.strides[3] != 1 || view.strides[2] != view.extents[3]) return;
  const E* const first = &view(head / call.shape.n_kv_heads, head % call.shape.n_kv_heads, begin, 0);
  ahead.runs[--ahead.next] = {reinterpret_cast<const char*>(first),
                              (end - begin) * view.extents[3] * static_cast<Size>(sizeof(E))};
}

template <class T, class S>
void ask_for_keys(kernels::Ahead& ahead, const AttentionCall<T, S>& call, Size head, Size begin,
                  Size end) noexcept {
  ask_for_rows(ahead, call, call.v, head, begin, end);
  ask_for_rows(ahead, call, call.k, head, begin, end);
}

/// Rows of q and out. Those of a group's heads are several runs, and nothing is asked for.
template <class T, class S>
void ask_for_queries(kernels::Ahead& ahead, const AttentionCall<T, S>& call, Size head, Size begin,
                     Size end) noexcept {
  if (call.shape.group_size != 1) return;
  ask_for_rows(ahead, call, call.out, head, begin, end);
  ask_for_rows(ahead, call, call.q, head, begin, end);
}

/// All of a head, if there is one and it leaves room in L2.
template <class T, class S>
kernels::Ahead memory_of_head(const AttentionCall<T, S>& call, Size head) noexcept {
  constexpr Size most_bytes = 1 << 18, page = 4096;
  const AttentionShape& shape = call.shape;
  kernels::Ahead ahead;
  const double elements =
      static_cast<double>(shape.q_len + shape.kv_len) * static_cast<double>(shape.head_dim + shape.v_dim);
  if (head >= shape.heads() || shape.group_size != 1 || elements * sizeof(T) > most_bytes) return ahead;
  ask_for_queries(ahead, call, head, 0, shape.q_len);
  ask_for_keys(ahead, call, head, 0, shape.kv_len);
  // A line a page at once, so that addresses are translated side by side: each translation by itself holds
  // the products up.
  for (int run = ahead.next; run < kernels::Ahead::most; ++run) {
    for (Size offset = 0; offset < ahead.runs[run].bytes; offset += page)
      __builtin_prefetch(ahead.runs[run].at + offset);
  }
  return ahead;
}

}  // namespace rapt
