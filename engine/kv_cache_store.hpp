// Where a KV cache's tokens lie: packed blocks of keys and values, written token by token or panel by panel,
// and read back.
#pragma once

#include <rapt/kv_cache.hpp>

#include <bit>
#include <type_traits>

#include "arena.hpp"
#include "kernels/kernel_table.hpp"
#include "kv_cache_ring.hpp"
#include "rope.hpp"
#include "workspace.hpp"

namespace rapt {

/// What a cache of S computes in.
template <class S>
using ArithmeticOf = std::conditional_t<std::is_same_v<S, double>, double, float>;

/// The option that asks for storage as S.
template <class S>
inline constexpr KvDtype kv_dtype = std::is_same_v<S, double>  ? KvDtype::f64
                                    : std::is_same_v<S, float> ? KvDtype::f32
                                    : std::is_same_v<S, bf16>  ? KvDtype::bf16
                                                               : KvDtype::f16;

/// Extents of packed storage, in elements. NR: columns of a panel.
struct KvLayout {
  Size batch, n_kv_heads, head_dim, v_dim, NR;
  KvRing ring;
  // A power of two: a token asks for its panels several times, and a division takes as long as ten shifts.
  int log2_NR = std::countr_zero(static_cast<std::size_t>(NR));

  /// The panel of a position or component, and its column there.
  Size panel_of(Size i) const noexcept { return i >> log2_NR; }
  Size column_of(Size i) const noexcept { return i & (NR - 1); }

  /// Keys [block_keys / NR][head_dim][NR], then values [round_up(v_dim, NR) / NR][block_keys][NR]. A panel's
  /// columns lie as kernels::panel_column says.
  Size k_elements() const noexcept { return kernels::block_keys * head_dim; }
  Size v_elements() const noexcept { return kernels::block_keys * round_up(v_dim, NR); }
  Size block_elements() const noexcept { return k_elements() + v_elements(); }
};

/// options: in range, but perhaps too large to allocate.
KvLayout layout_of(const KvCacheOptions& options, const kernels::KernelTable& table) noexcept;

/// Throws std::bad_alloc when the bytes cannot be counted.
Size arena_bytes(const KvLayout& layout, Size element_size);

/// Tokens to store: `count` real ones, to positions from `position` on of sequence b.
struct KvTokens {
  Size b, position, count;
  Size first;         // the chunk's index of the first one, and the next ones follow it
  const Size* index;  // or, where not null, the chunk's index of each
};

/// Packed keys and values of one block of one (sequence, KV head).
template <class S>
struct KvBlock {
  S* k;
  S* v;
};

template <class S>
class KvStore {
 public:
  using T = ArithmeticOf<S>;

  KvStore(const KvLayout& layout, const kernels::KernelTable& table)
      : layout_(layout),
        kernels_(&table.of<T>()),
        arena_(arena_bytes(layout, static_cast<Size>(sizeof(S)))) {}

  const KvLayout& layout() const noexcept { return layout_; }
  Size nbytes() const noexcept { return arena_.size(); }

  /// The block that holds positions [block * block_keys, ...).
  KvBlock<S> block(Size b, Size hkv, Size block) const noexcept {
    const Size at = (b * layout_.n_kv_heads + hkv) * layout_.ring.blocks + layout_.ring.place_of(block);
    S* const k = reinterpret_cast<S*>(arena_.get()) + at * layout_.block_elements();
    return {k, k + layout_.k_elements()};
  }

  /// Panels of keys that the tokens touch: what write_panel() is called for.
  Size panels_of(const KvTokens& tokens) const noexcept {
    if (tokens.count == 0) return 0;
    return layout_.panel_of(tokens.position + tokens.count - 1) - layout_.panel_of(tokens.position) + 1;
  }
  /// Stores those tokens that lie in the panel-th of them, none behind the last, for every KV head. In is S
  /// or T. Keys are rotated where rotation is given, with `line` (head_dim elements) as scratch. Different
  /// panels may be written at the same time.
  template <class In>
  void write_panel(const KvTokens& tokens, Size panel, const View<const In, 4>& k, const View<const In, 4>& v,
                   RowRotation<T>* rotation, T* line) const noexcept;

  /// Copies the blocks that hold `sequence` from one sequence, of this or another store of the same layout.
  void copy_blocks(const KvStore& from, Size source, Size target, const KvSequence& sequence) const noexcept;

  /// Reads back one sequence: out [n_kv_heads, held, dim].
  void read_keys(Size b, const KvSequence& held, const View<T, 3>& out) const noexcept;
  void read_values(Size b, const KvSequence& held, const View<T, 3>& out) const noexcept;

  /// The value at a position: component j at [value_offset(j)].
  S* value_at(Size b, Size hkv, Size position) const noexcept {
    return block(b, hkv, position / kernels::block_keys).v + position % kernels::block_keys * layout_.NR;
  }
  Size value_offset(Size j) const noexcept {
    return layout_.panel_of(j) * kernels::block_keys * layout_.NR + column(j);
  }

 private:
  /// The key at a position: component u at [u * NR].
  S* key_at(Size b, Size hkv, Size position) const noexcept {
    const Size slot = position % kernels::block_keys;
    return block(b, hkv, position / kernels::block_keys).k +
           layout_.panel_of(slot) * layout_.head_dim * layout_.NR + column(slot);
  }
  Size column(Size i) const noexcept { return kernels::panel_column<S>(layout_.column_of(i), layout_.NR); }
  template <class In>
  void write_keys(const KvTokens& tokens, const View<const In, 4>& k) const noexcept;
  template <class In>
  void write_rotated_keys(const KvTokens& tokens, const View<const In, 4>& k, RowRotation<T>& rotation,
                          T* line) const noexcept;
  template <class In>
  void write_key(const In* key, Size stride, S* to) const noexcept;
  template <class In>
  void write_values(const KvTokens& tokens, const View<const In, 4>& v) const noexcept;

  KvLayout layout_;
  const kernels::Kernels<T>* kernels_;
  Arena arena_;
};

}  // namespace rapt
