#include "kv_cache_store.hpp"

#include <algorithm>
#include <cstring>

#include "narrow.hpp"
#include "widen.hpp"

namespace rapt {

using kernels::block_keys;

namespace {

// As stored; what is stored already keeps its bits.
template <class S, class In>
S stored(In x) noexcept {
  if constexpr (std::is_same_v<S, In>)
    return x;
  else
    return narrow<S>(x);
}

// The part of a run of tokens that starts `skip` tokens in.
KvTokens part_of(const KvTokens& tokens, Size skip, Size count) noexcept {
  return {tokens.b, tokens.position + skip, count, tokens.first + skip,
          tokens.index == nullptr ? nullptr : tokens.index + skip};
}

Size chunk_index(const KvTokens& tokens, Size i) noexcept {
  return tokens.index == nullptr ? tokens.first + i : tokens.index[i];
}

}  // namespace

KvLayout layout_of(const KvCacheOptions& options, const kernels::KernelTable& table) noexcept {
  return {.batch = options.batch,
          .n_kv_heads = options.n_kv_heads,
          .head_dim = options.head_dim,
          .v_dim = options.v_dim.value_or(options.head_dim),
          .NR = options.dtype == KvDtype::f64 ? table.f64.NR : table.f32.NR,
          .ring = KvRing(options.capacity, options.window.value_or(no_window))};
}

Size arena_bytes(const KvLayout& layout, Size element_size) {
  const auto block = [&](Size dim) {
    return element_count(element_count(kernels::block_keys, dim), element_size);
  };
  // What cannot be rounded up is far too much as it is.
  Size bytes = 0;
  if (layout.v_dim > PTRDIFF_MAX - layout.NR ||
      __builtin_add_overflow(block(layout.head_dim), block(round_up(layout.v_dim, layout.NR)), &bytes))
    throw std::bad_alloc();
  return element_count(element_count(layout.batch, layout.n_kv_heads),
                       element_count(layout.ring.blocks, bytes));
}

template <class S>
template <class In>
void KvStore<S>::write_panel(const KvTokens& tokens, Size panel, const View<const In, 4>& k,
                             const View<const In, 4>& v, RowRotation<T>* rotation, T* line) const noexcept {
  const Size start = (layout_.panel_of(tokens.position) + panel) * layout_.NR;
  const Size first = std::max(start, tokens.position),
             last = std::min(start + layout_.NR, tokens.position + tokens.count);
  if (first >= last) return;
  const KvTokens part = part_of(tokens, first - tokens.position, last - first);
  if (rotation != nullptr)
    write_rotated_keys(part, k, *rotation, line);
  else
    write_keys(part, k);
  write_values(part, v);
}

// A whole panel of keys that need no rounding is transposed in registers.
template <class S>
template <class In>
void KvStore<S>::write_keys(const KvTokens& tokens, const View<const In, 4>& k) const noexcept {
  const bool whole_panel = std::is_same_v<T, S> && tokens.count == layout_.NR;
  for (Size hkv = 0; hkv < layout_.n_kv_heads; ++hkv) {
    if constexpr (std::is_same_v<T, S>) {
      if (whole_panel) {
        kernels_->pack({.source = &k(tokens.b, hkv, tokens.index == nullptr ? tokens.first : 0, 0),
                        .step_stride = k.strides[3],
                        .column_stride = k.strides[2],
                        .step_index = nullptr,
                        .column_index = tokens.index,
                        .steps = layout_.head_dim,
                        .columns = layout_.NR,
                        .panels = key_at(tokens.b, hkv, tokens.position),
                        .panel_stride = layout_.head_dim * layout_.NR});
        continue;
      }
    }
    for (Size i = 0; i < tokens.count; ++i) {
      write_key(&k(tokens.b, hkv, chunk_index(tokens, i), 0), k.strides[3],
                key_at(tokens.b, hkv, tokens.position + i));
    }
  }
}

// Position by position, so that the heads share an angle.
template <class S>
template <class In>
void KvStore<S>::write_rotated_keys(const KvTokens& tokens, const View<const In, 4>& k,
                                    RowRotation<T>& rotation, T* line) const noexcept {
  for (Size i = 0; i < tokens.count; ++i) {
    rotation.move_to(tokens.position + i);
    for (Size hkv = 0; hkv < layout_.n_kv_heads; ++hkv) {
      const In* key = &k(tokens.b, hkv, chunk_index(tokens, i), 0);
      for (Size u = 0; u < layout_.head_dim; ++u) line[u] = widen(key[u * k.strides[3]]);
      rotation.apply(line, 1, line, 1);
      write_key(line, 1, key_at(tokens.b, hkv, tokens.position + i));
    }
  }
}

template <class S>
template <class In>
void KvStore<S>::write_key(const In* key, Size stride, S* to) const noexcept {
  for (Size u = 0; u < layout_.head_dim; ++u) to[u * layout_.NR] = stored<S>(key[u * stride]);
}

template <class S>
template <class In>
void KvStore<S>::write_values(const KvTokens& tokens, const View<const In, 4>& v) const noexcept {
  const Size NR = layout_.NR;
  for (Size hkv = 0; hkv < layout_.n_kv_heads; ++hkv) {
    S* const values = value_at(tokens.b, hkv, tokens.position);
    if constexpr (std::is_same_v<T, S>) {
      kernels_->pack({.source = &v(tokens.b, hkv, tokens.index == nullptr ? tokens.first : 0, 0),
                      .step_stride = v.strides[2],
                      .column_stride = v.strides[3],
                      .step_index = tokens.index,
                      .column_index = nullptr,
                      .steps = tokens.count,
                      .columns = layout_.v_dim,
                      .panels = values,
                      .panel_stride = block_keys * NR});
    } else {
      for (Size i = 0; i < tokens.count; ++i) {
        const In* value = &v(tokens.b, hkv, chunk_index(tokens, i), 0);
        for (Size j = 0; j < layout_.v_dim; ++j)
          values[value_offset(j) + i * NR] = stored<S>(value[j * v.strides[3]]);
      }
    }
  }
}

template <class S>
void KvStore<S>::copy_blocks(const KvStore& from, Size source, Size target,
                             const KvSequence& sequence) const noexcept {
  for (Size hkv = 0; hkv < layout_.n_kv_heads; ++hkv) {
    for (Size at = sequence.first / block_keys; at * block_keys < sequence.length; ++at)
      std::copy_n(from.block(source, hkv, at).k, layout_.block_elements(), block(target, hkv, at).k);
  }
}

template <class S>
void KvStore<S>::read_keys(Size b, const KvSequence& held, const View<T, 3>& out) const noexcept {
  for (Size hkv = 0; hkv < layout_.n_kv_heads; ++hkv) {
    for (Size position = held.first; position < held.length; ++position) {
      const S* key = key_at(b, hkv, position);
      for (Size u = 0; u < layout_.head_dim; ++u)
        out(hkv, position - held.first, u) = widen(key[u * layout_.NR]);
    }
  }
}

template <class S>
void KvStore<S>::read_values(Size b, const KvSequence& held, const View<T, 3>& out) const noexcept {
  for (Size hkv = 0; hkv < layout_.n_kv_heads; ++hkv) {
    for (Size position = held.first; position < held.length; ++position) {
      const S* value = value_at(b, hkv, position);
      for (Size j = 0; j < layout_.v_dim; ++j)
        out(hkv, position - held.first, j) = widen(value[value_offset(j)]);
    }
  }
}

#define RAPT_KV_STORE(S)                                                                      \
  template class KvStore<S>;                                                                  \
  template void KvStore<S>::write_panel(const KvTokens&, Size, const View<const S, 4>&,       \
                                        const View<const S, 4>&, RowRotation<KvStore<S>::T>*, \
                                        KvStore<S>::T*) const noexcept;
RAPT_KV_STORE(float)
RAPT_KV_STORE(double)
RAPT_KV_STORE(bf16)
RAPT_KV_STORE(f16)
#undef RAPT_KV_STORE
template void KvStore<bf16>::write_panel(const KvTokens&, Size, const View<const float, 4>&,
                                         const View<const float, 4>&, RowRotation<float>*,
                                         float*) const noexcept;
template void KvStore<f16>::write_panel(const KvTokens&, Size, const View<const float, 4>&,
                                        const View<const float, 4>&, RowRotation<float>*,
                                        float*) const noexcept;

}  // namespace rapt
