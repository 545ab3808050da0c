// attention(): validate, plan, run. The path of one call, from top to bottom.
#include <rapt/attention.hpp>

#include <algorithm>
#include <vector>

#include "attention_ahead.hpp"
#include "dispatch.hpp"
#include "float_mode.hpp"
#include "row_block.hpp"
#include "run.hpp"
#include "validate.hpp"

namespace rapt {
namespace {

using kernels::block_keys;

/// Blocks of keys that some row of a sequence is offered.
struct BlockRange {
  Size begin, end;
};

template <class T, class S>
class AttentionRun {
  using Rows = RowBlock<AttentionCall<T, S>>;

 public:
  explicit AttentionRun(const AttentionCall<T, S>& call) : call_(call) {
    double keys = 0, pairs = 0;
    for (Size b = 0; b < call.shape.batch; ++b) {
      const Offered all = call.offered_to_all(b);
      blocks_.push_back({all.begin / block_keys, (all.end + block_keys - 1) / block_keys});
      most_blocks_ = std::max(most_blocks_, blocks_.back().end - blocks_.back().begin);
      const double offered = static_cast<double>(all.end - all.begin);
      keys += offered * static_cast<double>(call.shape.n_kv_heads);
      pairs += offered * static_cast<double>(call.shape.n_heads * call.shape.q_len);
    }
    const Size head_bytes =
        element_count(most_blocks_, element_count(key_block_elements(call), static_cast<Size>(sizeof(T))));
    plan_ = plan_attention(call.shape, most_blocks_, head_bytes, call.options.weights || call.options.scores);
    const double dims = static_cast<double>(call.shape.head_dim + call.shape.v_dim);
    // Of a few rows, packing K and V is most of the work.
    slots_ = worker_slots(call.shape.heads() * std::max(plan_.row_blocks, most_blocks_),
                          2 * pairs * dims + moved_element_flop * keys * dims);
    wave_ = heads_in_wave();
  }

  Size scratch_bytes() {
    Carver memory;
    carve(memory);
    return memory.used();
  }

  AttentionReport run() {
    if (call_.shape.heads() == 0 || call_.shape.rows() == 0) return {};
    const AlignedArray<std::byte> scratch(scratch_bytes());
    Carver memory(scratch.get(), scratch.size());
    carve(memory);
    switch (plan_.schedule) {
      case Schedule::packed:
        run_packed();
        break;
      case Schedule::streamed:
        run_streamed();
        break;
      case Schedule::split:
        run_split();
        break;
    }
    return report();
  }

 private:
  Size heads_in_wave() const noexcept {
    const Size row_blocks = std::max(plan_.row_blocks, Size{1}),
               busy = (slots_ + row_blocks - 1) / row_blocks;
    return std::min({plan_.wave * slots_, std::max(plan_.most_wave, busy), call_.shape.heads()});
  }
  Size capacity() const noexcept { return std::min(plan_.row_block, call_.shape.rows()); }
  BlockRange blocks(Size head) const noexcept {
    return blocks_[static_cast<std::size_t>(head / call_.shape.n_kv_heads)];
  }

  void carve(Carver& memory) {
    row_blocks_.clear(), key_blocks_.clear(), partials_.clear();
    for (Size slot = 0; slot < slots_; ++slot) row_blocks_.emplace_back(call_, capacity(), memory);
    const Size packed = plan_.schedule == Schedule::packed ? wave_ * most_blocks_ : slots_;
    for (Size block = 0; block < packed; ++block)
      key_blocks_.push_back(memory.take<T>(key_block_elements(call_)));
    if (plan_.schedule != Schedule::split) return;
    parts_left_ = memory.take<Size>(call_.shape.heads());
    for (Size block = 0; block < call_.shape.heads() * most_blocks_; ++block)
      partials_.push_back(Rows::carve_state(call_, capacity(), memory));
  }

  /// A wave of KV heads at a time: pack all their blocks, then attend from all their row blocks.
  void run_packed() {
    const Size heads = call_.shape.heads();
    for (Size first = 0; first < heads; first += wave_) {
      const Size wave = std::min(wave_, heads - first);
      run_items(wave * most_blocks_, slots_, [&](Size, Size item) {
        const Size head = first + item / most_blocks_, block = blocks(head).begin + item % most_blocks_;
        if (block < blocks(head).end) pack(head, block, memory_of(item / most_blocks_, block, head));
      });
      run_items(wave * plan_.row_blocks, slots_, [&](Size slot, Size item) {
        const Size head = first + item / plan_.row_blocks;
        row_blocks_[static_cast<std::size_t>(slot)].ask_for(memory_behind(first, wave, item));
        attend_rows(slot, head, first_row(item), end_row(item), [&](Size block) {
          return packed_block(call_, memory_of(item / plan_.row_blocks, block, head));
        });
      });
    }
  }

  /// One item a KV head, each block packed where it is used.
  void run_streamed() {
    run_items(call_.shape.heads(), slots_, [&](Size slot, Size head) {
      row_blocks_[static_cast<std::size_t>(slot)].ask_for(memory_of_head(call_, head + slots_));
      attend_rows(slot, head, 0, call_.shape.rows(), [&](Size block) { return stream(head, block, slot); });
    });
  }

  /// One item a block of keys, each giving a Partial; a head's Partials are folded in position order.
  void run_split() {
    run_parts(
        call_.shape.heads(), most_blocks_, slots_, parts_left_,
        [&](Size slot, Size head, Size part) {
          const kernels::RowState<T>& partial =
              partials_[static_cast<std::size_t>(head * most_blocks_ + part)];
          Rows::clear_state(partial, capacity());
          const Size block = blocks(head).begin + part;
          if (block >= blocks(head).end) return;
          Rows& rows = gathered(slot, head, 0, call_.shape.rows());
          rows.attend(block, stream(head, block, slot), partial);
        },
        [&](Size slot, Size head) {
          Rows& rows = gathered(slot, head, 0, call_.shape.rows());
          rows.prefill();
          for (Size part = 0; part < most_blocks_; ++part)
            rows.fold(partials_[static_cast<std::size_t>(head * most_blocks_ + part)]);
          rows.finish();
        });
  }

  /// The rows of an item. From the end of a head: the last rows of a causal head see the most keys, and the
  /// block that is not full sees the fewest.
  Size end_row(Size item) const noexcept {
    return call_.shape.rows() - item % plan_.row_blocks * plan_.row_block;
  }
  Size first_row(Size item) const noexcept { return std::max(end_row(item) - plan_.row_block, Size{0}); }

  /// Rows [first, end) of a head, from their first keys to their last. keys(block) gives a packed block.
  template <class Keys>
  void attend_rows(Size slot, Size head, Size first, Size end, Keys&& keys) noexcept {
    Rows& rows = gathered(slot, head, first, end);
    rows.prefill();
    const Offered offered = rows.offered();
    for (Size block = offered.begin / block_keys; block * block_keys < offered.end; ++block)
      rows.attend(block, keys(block));
    rows.finish();
  }

  Rows& gathered(Size slot, Size head, Size first, Size end) noexcept {
    Rows& rows = row_blocks_[static_cast<std::size_t>(slot)];
    rows.gather(head / call_.shape.n_kv_heads, head % call_.shape.n_kv_heads, first, end);
    return rows;
  }

  /// What comes behind an item of a wave: the rows that its slot is likely to take next, and a share of the
  /// keys and values that are packed after the wave.
  kernels::Ahead memory_behind(Size first, Size wave, Size item) const noexcept {
    kernels::Ahead ahead;
    const Size next = first * plan_.row_blocks + item + slots_;
    if (next / plan_.row_blocks < call_.shape.heads())
      ask_for_queries(ahead, call_, next / plan_.row_blocks, first_row(next), end_row(next));
    const Size head = first + wave + item / plan_.row_blocks, share = item % plan_.row_blocks;
    if (head < call_.shape.heads()) {
      const Size begin = blocks(head).begin * block_keys,
                 keys = std::min(blocks(head).end * block_keys, call_.shape.kv_len) - begin;
      ask_for_keys(ahead, call_, head, begin + keys * share / plan_.row_blocks,
                   begin + keys * (share + 1) / plan_.row_blocks);
    }
    return ahead;
  }

  void pack(Size head, Size block, T* memory) const noexcept {
    pack_key_block(call_, head / call_.shape.n_kv_heads, head % call_.shape.n_kv_heads, block, memory);
  }
  KeyBlock<T> stream(Size head, Size block, Size slot) const noexcept {
    return stream_key_block(call_, head / call_.shape.n_kv_heads, head % call_.shape.n_kv_heads, block,
                            key_blocks_[static_cast<std::size_t>(slot)]);
  }
  T* memory_of(Size in_wave, Size block, Size head) const noexcept {
    return key_blocks_[static_cast<std::size_t>(in_wave * most_blocks_ + block - blocks(head).begin)];
  }

  /// Counted where the work was done; K and V bytes by the union of what rows are offered, which has no gaps.
  AttentionReport report() const noexcept {
    AttentionReport report;
    for (const Rows& rows : row_blocks_) {
      report.dot_products += rows.counts().offered + rows.skipped_pairs();
      report.visible_pairs += rows.counts().offered - rows.counts().hidden;
    }
    const Size key_bytes = (call_.shape.head_dim + call_.shape.v_dim) * static_cast<Size>(sizeof(S));
    for (Size b = 0; b < call_.shape.batch; ++b) {
      const Offered keys = call_.offered_to_all(b);
      report.bytes_read += call_.shape.n_kv_heads * (keys.end - keys.begin) * key_bytes;
    }
    return report;
  }

  const AttentionCall<T, S>& call_;
  std::vector<BlockRange> blocks_;  // [batch]
  Size most_blocks_ = 0;
  AttentionPlan plan_{};
  Size slots_ = 1;
  Size wave_ = 1;                               // KV heads packed together
  std::vector<Rows> row_blocks_;                // [slots]
  std::vector<T*> key_blocks_;                  // packed: [wave_][most_blocks]; else [slots]
  std::vector<kernels::RowState<T>> partials_;  // split: [heads][most_blocks]
  Size* parts_left_ = nullptr;                  // split: [heads]
};

template <class T, class S>
AttentionReport run_attention(const View<const T, 4>& q, const View<const S, 4>& k, const View<const S, 4>& v,
                              const View<T, 4>& out, const AttentionOptions<T>& options) {
  const StandardFloatMode mode;
  validate(q, k, v, out, options);
  const AttentionCall<T, S> call(active_kernels(), q, k, v, out, options);
  return AttentionRun<T, S>(call).run();
}

template <class T, class S>
std::ptrdiff_t scratch_of(const View<const T, 4>& q, const View<const S, 4>& k, const View<const S, 4>& v,
                          const View<T, 4>& out, const AttentionOptions<T>& options) {
  validate(q, k, v, out, options);
  const AttentionCall<T, S> call(active_kernels(), q, k, v, out, options);
  return AttentionRun<T, S>(call).scratch_bytes();
}

}  // namespace

AttentionReport attention(View<const float, 4> q, View<const float, 4> k, View<const float, 4> v,
                          View<float, 4> out, const AttentionOptions<float>& options) {
  return run_attention(q, k, v, out, options);
}
AttentionReport attention(View<const double, 4> q, View<const double, 4> k, View<const double, 4> v,
                          View<double, 4> out, const AttentionOptions<double>& options) {
  return run_attention(q, k, v, out, options);
}
AttentionReport attention(View<const float, 4> q, View<const bf16, 4> k, View<const bf16, 4> v,
                          View<float, 4> out, const AttentionOptions<float>& options) {
  return run_attention(q, k, v, out, options);
}
AttentionReport attention(View<const float, 4> q, View<const f16, 4> k, View<const f16, 4> v,
                          View<float, 4> out, const AttentionOptions<float>& options) {
  return run_attention(q, k, v, out, options);
}

std::ptrdiff_t attention_scratch_bytes(View<const float, 4> q, View<const float, 4> k, View<const float, 4> v,
                                       View<float, 4> out, const AttentionOptions<float>& options) {
  return scratch_of(q, k, v, out, options);
}
std::ptrdiff_t attention_scratch_bytes(View<const double, 4> q, View<const double, 4> k,
                                       View<const double, 4> v, View<double, 4> out,
                                       const AttentionOptions<double>& options) {
  return scratch_of(q, k, v, out, options);
}

std::ptrdiff_t attention_scratch_bytes(View<const float, 4> q, View<const bf16, 4> k, View<const bf16, 4> v,
                                       View<float, 4> out, const AttentionOptions<float>& options) {
  return scratch_of(q, k, v, out, options);
}
std::ptrdiff_t attention_scratch_bytes(View<const float, 4> q, View<const f16, 4> k, View<const f16, 4> v,
                                       View<float, 4> out, const AttentionOptions<float>& options) {
  return scratch_of(q, k, v, out, options);
}

}  // namespace rapt
