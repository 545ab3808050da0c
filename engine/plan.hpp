// How a call is cut into items. A pure function of the problem: it never sees the number of threads, and no
// answer depends on it.
#pragma once

#include <cstddef>

namespace rapt {

/// The extents of one attention call.
struct AttentionShape {
  std::ptrdiff_t batch, n_heads, n_kv_heads, q_len, kv_len, head_dim, v_dim;

  /// Query heads of one KV head: divided once, since a decode step asks for it some ten times.
  std::ptrdiff_t group_size = n_kv_heads == 0 ? 0 : n_heads / n_kv_heads;

  std::ptrdiff_t heads() const noexcept { return batch * n_kv_heads; }
  /// Query rows of one KV head. Row r is query r / group_size of head r % group_size of the group: rows
  /// of one query stand together, so that a decode step of a group is one tile and a causal tile has little
  /// that only some of its rows see.
  std::ptrdiff_t rows() const noexcept { return group_size * q_len; }
  /// Of K and V together.
  double key_value_elements() const noexcept {
    return static_cast<double>(heads()) * static_cast<double>(kv_len) * static_cast<double>(head_dim + v_dim);
  }
};

/// How K and V reach the kernels.
enum class Schedule {
  packed,    ///< pack whole KV heads, a wave at a time, then attend to them from many row blocks
  streamed,  ///< one row block a KV head: each block of keys is packed into scratch and used at once
  split,  ///< few rows and few KV heads: every block of keys is an item and gives a Partial; the Partials are
          ///< folded in order
};

struct AttentionPlan {
  Schedule schedule;
  std::ptrdiff_t row_block;   // rows of an item, a multiple of every tile's; the first block may have fewer
  std::ptrdiff_t row_blocks;  // a KV head, the last of which ends with its last row
  std::ptrdiff_t wave;        // KV heads in flight for each thread (packed)
  std::ptrdiff_t most_wave;   // and for all together, as long as each thread has a row block
};

/// key_blocks: blocks of 256 keys of the longest sequence. head_bytes: packed K and V of one KV head.
/// by_products: weights or scores are asked for; a row's are then written by one worker, a few rows at a
/// time.
AttentionPlan plan_attention(const AttentionShape& shape, std::ptrdiff_t key_blocks,
                             std::ptrdiff_t head_bytes, bool by_products) noexcept;

/// How rows over stored blocks are cut: nothing needs packing.
struct CachedPlan {
  bool split;                 ///< an item is a run of blocks and gives a Partial for each; else a row block
  std::ptrdiff_t row_block;   // rows of an item, as above
  std::ptrdiff_t row_blocks;  // a KV head
  std::ptrdiff_t run;         // blocks of an item (split)
  std::ptrdiff_t runs;        // a KV head
};

/// Rows of a KV head that may be split. Partials cost v_dim + 4 numbers a row and block: little for a decode
/// step of a group, too much for a prefill.
inline constexpr std::ptrdiff_t most_split_rows = 32;

/// key_blocks: as above, of what is stored.
CachedPlan plan_cached(const AttentionShape& shape, std::ptrdiff_t key_blocks) noexcept;

}  // namespace rapt
