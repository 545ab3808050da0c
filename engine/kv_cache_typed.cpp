#include "kv_cache_typed.hpp"

#include <algorithm>

#include "kv_cache_chunk.hpp"
#include "run.hpp"

namespace rapt {
namespace {

// Rows of a rotated chunk that are rotated and attended at a time: bounds the copy of q.
constexpr Size rotated_rows = 512;

// An element that is rounded or rotated as it moves costs twice one that only moves.
constexpr double element_flop = 2 * moved_element_flop;

// Keys and values stream from memory at some 20 GB/s a core: a byte takes the time of some 3 flop. A few rows
// wait for them, and a second core that waits for other ones halves the time.
constexpr double stored_byte_flop = 3;

/// For `keys`, of all sequences together, that each of `step` rows sees.
template <class S>
Size row_slots(const KvCall<S>& call, Size step, Size keys) noexcept {
  AttentionShape shape = call.shape;
  shape.q_len = step;
  const CachedPlan plan = plan_cached(shape, call.store.layout().ring.blocks);
  const double bytes = call.stored_bytes(keys), read = stored_byte_flop * bytes;
  const double flop = 2 * bytes / sizeof(S) * static_cast<double>(step * shape.group_size);
  return worker_slots(shape.heads() * std::max(plan.row_blocks, plan.split ? plan.runs : Size{1}),
                      std::max(flop, read));
}

template <class S>
Size write_slots(const KvStore<S>& store, Size len) noexcept {
  const KvLayout& layout = store.layout();
  const double elements = static_cast<double>(layout.batch * layout.n_kv_heads) * static_cast<double>(len) *
                          static_cast<double>(layout.head_dim + layout.v_dim);
  return worker_slots(layout.batch * (layout.panel_of(len) + 2), element_flop * elements);
}

// Every head of a row turns by one angle.
template <class S>
void rotate_rows(const KvCall<S>& call, const View<const ArithmeticOf<S>, 4>& q,
                 const View<ArithmeticOf<S>, 4>& to, Size slots,
                 RowRotation<ArithmeticOf<S>>* rotations) noexcept {
  const Size len = q.extents[2];
  run_items(call.shape.batch * len, slots, [&](Size slot, Size item) {
    const Size b = item / len, i = item % len, end = call.ends[b * call.ends_stride + i];
    rotations[slot].move_to(std::max<Size>(end - 1, 0));
    for (Size h = 0; h < call.shape.n_heads; ++h)
      rotations[slot].apply(&q(b, h, i, 0), q.strides[3], &to(b, h, i, 0), to.strides[3]);
  });
}

template <class E>
View<E, 4> rows_of(View<E, 4> view, Size first, Size count) noexcept {
  view.data += first * view.strides[2];
  view.extents[2] = count;
  return view;
}

/// Attends to rows [first, first + count) of the chunk.
template <class S, class T>
void attend_rows(KvCall<S>& call, KvRowScratch<S>& scratch, const View<const T, 4>& q, const View<T, 4>& out,
                 Size first, Size count, Size slots, RowRotation<T>* rotations) noexcept {
  call.shape.q_len = count;
  call.ends = scratch.ends + first;
  call.ends_stride = q.extents[2];
  call.q = rows_of(q, first, count);
  call.out = rows_of(out, first, count);
  if (rotations != nullptr) {
    const View<T, 4> rotated =
        contiguous(scratch.rotated, {call.shape.batch, call.shape.n_heads, count, call.shape.head_dim});
    rotate_rows(call, call.q, rotated, slots, rotations);
    call.q = rotated;
  }
  scratch.run.run();
}

/// What a call did, once all of its rows are done.
template <class S>
AttentionReport report_of(KvCall<S>& call, const KvRowScratch<S>& scratch, Size len) noexcept {
  call.shape.q_len = len;
  call.ends = scratch.ends;
  AttentionReport report{scratch.run.pairs(), scratch.run.pairs(), 0};
  for (Size b = 0; b < call.shape.batch; ++b) {
    const Offered keys = call.offered_to_all(b);
    report.bytes_read += call.shape.n_kv_heads * (keys.end - keys.begin) *
                         (call.shape.head_dim + call.shape.v_dim) * static_cast<Size>(sizeof(S));
  }
  return report;
}

}  // namespace

template <class S>
TypedKvCache<S>::TypedKvCache(const TypedKvCache& other)
    : table_(other.table_), store_(other.store_.layout(), other.table_), sequences_(other.sequences_) {
  for (Size b = 0; b < store_.layout().batch; ++b) store_.copy_blocks(other.store_, b, b, sequence(b));
}

template <class S>
template <class In>
void TypedKvCache<S>::append(const View<const In, 4>& k, const View<const In, 4>& v,
                             const KvAppendOptions& options) {
  const Size batch = store_.layout().batch, len = k.extents[2];
  if (batch == 0 || len == 0) return;
  const typename KvWorkspaces<T>::Lease workspace(workspaces_);
  const Size slots = write_slots(store_, len);
  RowRotation<T>* const rotations = workspace->rotations(slots, store_.layout().head_dim, options.rope);
  const auto scratch = workspace->carve([&](Carver& memory) {
    return KvTokenScratch<T>(store_.layout(), len, options.key_mask.has_value(), slots, memory);
  });

  for (Size b = 0; b < batch; ++b) {
    KvSequence& sequence = sequences_[static_cast<std::size_t>(b)];
    Size* const index = scratch.index == nullptr ? nullptr : scratch.index + b * len;
    const Size count = index == nullptr ? len : list_real(*options.key_mask, b, index);
    // Of more than the ring holds only the last are kept.
    const Size skip = std::max(count - ring().capacity, Size{0});
    scratch.tokens[b] = {b, sequence.length + skip, count - skip, skip,
                         index == nullptr ? nullptr : index + skip};
    sequence = ring().appended(sequence, count);
  }
  write(scratch.tokens, k, v, slots, rotations, scratch.lines);
}

template <class S>
template <class In>
AttentionReport TypedKvCache<S>::attend(const View<const T, 4>& q, const View<const In, 4>& k,
                                        const View<const In, 4>& v, const View<T, 4>& out,
                                        const KvAttendOptions& options) {
  const Size batch = store_.layout().batch, len = q.extents[2];
  if (batch == 0 || len == 0) return {};
  const typename KvWorkspaces<T>::Lease workspace(workspaces_);
  KvCall<S> call(table_, store_, q.extents[1], options.scale, options.softcap);
  // No more tokens at a time than leave the rows before them, and their own, every key that they see.
  const Size step = std::min({len, ring().slack(), options.rope ? rotated_rows : len});
  Size keys = 0;
  for (const KvSequence& sequence : sequences_) keys += std::min(sequence.length + step, ring().window);
  call.far = kernels::is_far(call.stored_bytes(keys));
  call.in_memory = kernels::is_in_memory(call.stored_bytes(keys));
  const Size slots = row_slots(call, step, keys), writers = write_slots(store_, step);
  RowRotation<T>* const rotations =
      workspace->rotations(std::max(slots, writers), store_.layout().head_dim, options.rope);
  const bool masked = options.key_mask.has_value(), rotates = rotations != nullptr;
  struct Scratch {
    KvTokenScratch<T> tokens;
    KvRowScratch<S> rows;
  };
  auto [tokens, rows] = workspace->carve([&](Carver& memory) {
    return Scratch{{store_.layout(), len, masked, writers, memory},
                   {call, len, step, rotates, slots, memory}};
  });

  for (Size b = 0; b < batch; ++b) {
    if (masked) list_real(*options.key_mask, b, tokens.index + b * len);
    number_appended(options.key_mask, b, sequence(b).length, len, rows.ends + b * len);
  }
  for (Size first = 0; first < len; first += step) {
    const Size count = std::min(step, len - first);
    for (Size b = 0; b < batch; ++b) {
      const Size* const ends = rows.ends + b * len;
      const Size base = sequence(b).length, position = first == 0 ? base : ends[first - 1];
      tokens.tokens[b] = {b, position, ends[first + count - 1] - position, first,
                          masked ? tokens.index + b * len + (position - base) : nullptr};
    }
    write(tokens.tokens, k, v, writers, rotations, tokens.lines);
    attend_rows(call, rows, q, out, first, count, slots, rotations);
  }
  for (Size b = 0; b < batch; ++b) {
    KvSequence& sequence = sequences_[static_cast<std::size_t>(b)];
    sequence = ring().appended(sequence, rows.ends[b * len + len - 1] - sequence.length);
  }
  return report_of(call, rows, len);
}

template <class S>
AttentionReport TypedKvCache<S>::query(const View<const T, 4>& q, const View<T, 4>& out,
                                       const KvQueryOptions& options) const {
  const Size batch = store_.layout().batch, len = q.extents[2];
  if (batch == 0 || len == 0) return {};
  const typename KvWorkspaces<T>::Lease workspace(workspaces_);
  KvCall<S> call(table_, store_, q.extents[1], options.scale, options.softcap);
  const Size step = std::min(len, options.rope ? rotated_rows : len);
  Size keys = 0;
  for (const KvSequence& sequence : sequences_) keys += std::min(sequence.length, ring().window);
  call.far = kernels::is_far(call.stored_bytes(keys));
  call.in_memory = kernels::is_in_memory(call.stored_bytes(keys));
  const Size slots = row_slots(call, step, keys);
  RowRotation<T>* const rotations = workspace->rotations(slots, store_.layout().head_dim, options.rope);
  auto rows = workspace->carve(
      [&](Carver& memory) { return KvRowScratch<S>(call, len, step, rotations != nullptr, slots, memory); });

  for (Size b = 0; b < batch; ++b)
    number_stored(options.query_mask, b, sequence(b).length, len, rows.ends + b * len);
  for (Size first = 0; first < len; first += step)
    attend_rows(call, rows, q, out, first, std::min(step, len - first), slots, rotations);
  return report_of(call, rows, len);
}

template <class S>
void TypedKvCache<S>::cut(Size b, Size length) noexcept {
  KvSequence& sequence = sequences_[static_cast<std::size_t>(b)];
  sequence = {length == 0 ? 0 : sequence.first, length};
}

template <class S>
void TypedKvCache<S>::copy_sequence(Size source, Size target) noexcept {
  if (source == target) return;
  store_.copy_blocks(store_, source, target, sequence(source));
  sequences_[static_cast<std::size_t>(target)] = sequence(source);
}

template <class S>
template <class In>
void TypedKvCache<S>::write(const KvTokens* tokens, const View<const In, 4>& k, const View<const In, 4>& v,
                            Size slots, RowRotation<T>* rotations, T* lines) const noexcept {
  Size panels = 0;
  for (Size b = 0; b < store_.layout().batch; ++b) panels = std::max(panels, store_.panels_of(tokens[b]));
  if (panels == 0) return;
  run_items(store_.layout().batch * panels, slots, [&](Size slot, Size item) {
    store_.write_panel(tokens[item / panels], item % panels, k, v,
                       rotations == nullptr ? nullptr : rotations + slot,
                       lines + slot * store_.layout().head_dim);
  });
}

#define RAPT_TYPED_KV_CACHE(S)                                                                       \
  template class TypedKvCache<S>;                                                                    \
  template void TypedKvCache<S>::append(const View<const S, 4>&, const View<const S, 4>&,            \
                                        const KvAppendOptions&);                                     \
  template AttentionReport TypedKvCache<S>::attend(const View<const ArithmeticOf<S>, 4>&,            \
                                                   const View<const S, 4>&, const View<const S, 4>&, \
                                                   const View<ArithmeticOf<S>, 4>&, const KvAttendOptions&);
RAPT_TYPED_KV_CACHE(float)
RAPT_TYPED_KV_CACHE(double)
RAPT_TYPED_KV_CACHE(bf16)
RAPT_TYPED_KV_CACHE(f16)
#undef RAPT_TYPED_KV_CACHE
#define RAPT_ROUNDING_KV_CACHE(S)                                                                            \
  template void TypedKvCache<S>::append(const View<const float, 4>&, const View<const float, 4>&,            \
                                        const KvAppendOptions&);                                             \
  template AttentionReport TypedKvCache<S>::attend(const View<const float, 4>&, const View<const float, 4>&, \
                                                   const View<const float, 4>&, const View<float, 4>&,       \
                                                   const KvAttendOptions&);
RAPT_ROUNDING_KV_CACHE(bf16)
RAPT_ROUNDING_KV_CACHE(f16)
#undef RAPT_ROUNDING_KV_CACHE

}  // namespace rapt
