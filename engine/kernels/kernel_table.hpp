// The kernels of one ISA as data: what the engine calls, and the contract of each entry.
// Kernels know pointers, sizes and strides only. They never throw, allocate, start threads or ask which dtype
// they hold.
#pragma once

#include <rapt/dtype.hpp>

#include <cstddef>
#include <type_traits>

namespace rapt::kernels {

using Size = std::ptrdiff_t;

/// Keys of one block of the numeric contract: positions [256 b, 256 b + 256). Part of the results; never
/// change it.
inline constexpr Size block_keys = 256;

/// Whether what is read again and again is likely to have left L2 in between, an eighth of which it may take
/// (a half where it is small). Few rows ask for far panels ahead: from L2 that costs up to a fifth of their
/// time, from L3 it saves a tenth, from memory a third.
inline bool is_far(double bytes) noexcept { return bytes > 256 * 1024; }
/// Whether it is likely to have left L3 too, which others share.
inline bool is_in_memory(double bytes) noexcept { return bytes > 16 * 1024 * 1024; }

/// pack: panels[p][s][c] = source[s, p * NR + c] for s < steps; columns past the end are 0.
/// A panel holds NR neighbouring columns, contiguous along them: the order in which the micro-kernel reads
/// its right operand. K packs with steps = components and columns = keys; V with steps = keys and columns =
/// components; weights of a projection as they stand.
template <class T, class S>
struct PackArgs {
  const S* source;  // element [s, c] at s * step_stride + c * column_stride; any strides
  Size step_stride, column_stride;
  const Size* step_index;    // null, or the source index of each step (compaction of padded keys)
  const Size* column_index;  // null, or the source index of each column
  Size steps, columns;
  T* panels;          // panel p at p * panel_stride; writes steps * NR elements of each
  Size panel_stride;  // at least steps * NR
};

/// multiply: c[r, j] = (accumulate ? c[r, j] : +0) then for s ascending: + a[r, s] * b[s, j]. One chain a
/// result, never split. In textbook arithmetic multiply and add round separately; in fused arithmetic once
/// (baseline without FMA: separately).
template <class T>
struct MultiplyArgs {
  const T* a;  // row r at r * a_stride, unit step stride
  Size a_stride;
  const T* b;  // packed panels as pack writes them; panel p at p * b_stride
  Size b_stride;
  bool b_far;  // is_far() of b and what is read with it
  T* c;  // row r at r * c_stride, unit column stride; may not overlap a or b; writes no column past `columns`
  Size c_stride;
  Size rows, columns, steps;  // any from 0
  bool accumulate;
};

/// What a row's softmax has come to: the state of its fold, or the Partial of a run of blocks. Row r of each
/// array.
template <class T>
struct RowState {
  T* row_max;  // M, the largest integer exponent; unset while seen is 0
  T* row_sum;  // l
  T* acc;      // O: row r at r * acc_stride, round_up(v_dim, NR) elements; those past v_dim hold nothing of
               // meaning
  Size acc_stride;
  Size* seen;       // keys seen so far; starts at 0
  Size* last_seen;  // position of the last key seen: the one key, where seen is 1
};

/// One query row. Rows of a call may belong to several heads: query heads of one KV head share its panels.
struct AttendRow {
  // Positions it is offered, over all blocks; its own position is end - 1. Of the rows that are offered any,
  // begins and ends never fall.
  Size begin, end;
};
/// What a call with modifiers or weights says of a row besides.
template <class T>
struct RowOptions {
  T slope = T(0);           // ALiBi
  const T* bias = nullptr;  // null, or the row's element for key index 0; the same for the three below
  const bool* attend = nullptr;
  T* weights = nullptr;  // w = p * 2^(n - block_max) goes here until finish_weights
  T* scores = nullptr;
  T* block_max = nullptr;  // with weights: the maximum of block b at [b]
};

/// What else a call asks for. Everything here takes the careful path, row by row.
template <class T>
struct Modifiers {
  bool any;  // false: only weights may be asked for
  bool alibi;
  T softcap;                                                       // 0: none
  Size bias_stride, attend_stride, weights_stride, scores_stride;  // from one key index to the next
};

/// (row, key) pairs that went through a kernel.
struct PairCounts {
  Size offered, hidden;  // offered by the row's interval; of those, hidden by `attend`
};

/// Memory that will be used soon. The products ask for it line by line, so that it arrives while they run.
struct Ahead {
  struct Run {
    const char* at;
    Size bytes;
  };
  static constexpr int most = 4;
  Run runs[most]{};  // one after the other, each from its first byte on
  int next = most;   // the first that is not done

  /// The start of the next `bytes` bytes, or null. The end of a run is overstepped: what lies there is likely
  /// the next to be used, and asking never faults.
  const char* take(Size bytes) noexcept {
    while (next < most && runs[next].bytes <= 0) ++next;
    if (next == most) return nullptr;
    const char* const at = runs[next].at;
    runs[next] = {at + bytes, runs[next].bytes - bytes};
    return at;
  }
};

/// A few rows, and any number over 16-bit panels, go in tiles of row_multiple rows.
inline constexpr Size few_rows = 8, row_multiple = 4;
template <class T, class S>
constexpr bool in_small_tiles(Size rows) noexcept {
  return rows <= few_rows || !std::is_same_v<T, S>;
}
/// Rows of q that attend reads. Where small tiles leave two or three rows, they are read as a whole tile, and
/// what comes of those that are no rows is dropped.
template <class T, class S>
constexpr Size rows_read(Size rows) noexcept {
  const Size left = rows % row_multiple;
  return in_small_tiles<T, S>(rows) && left > 1 ? rows - left + row_multiple : rows;
}

/// Where column c of a panel of NR lies in a step of stored S. In bf16, columns c and c + NR / 2 are
/// neighbours: the halves of a word, of which a shift and a mask make one vector each.
template <class S>
constexpr Size panel_column(Size c, Size NR) noexcept {
  if constexpr (std::is_same_v<S, bf16>)
    return c < NR / 2 ? 2 * c : 2 * c - NR + 1;
  else
    return c;
}

/// attend: steps 1 to 5 of the numeric contract (engine/README.md) for some rows and one block of keys.
/// A row's keys of the block, [begin, end) cut to it, are scored, weighted against their own maximum, summed
/// and folded into its state. Panels hold `keys` keys and are 0 beyond; keys that no row is offered may be
/// read but never matter.
/// S is the storage of k and v: T, or 16 bits that widen exactly to T, whose columns lie in a panel as
/// panel_column() says.
template <class T, class S = T>
struct AttendArgs {
  Size rows;  // any number
  const AttendRow* row;
  const RowOptions<T>* options;  // null, or one a row
  const T* q;                    // row r at r * q_stride, head_dim components; rows_read(rows) of them
  Size q_stride;
  const S* k;  // panels of the block's keys: panel p at p * k_stride, component u at u * NR
  Size k_stride;
  const S* v;  // panels of the block's value columns: panel p at p * v_stride, key j at j * v_key_stride
  Size v_stride, v_key_stride;  // rows of V as they stand serve too where v_dim is a multiple of NR: NR and
                                // the row stride
  bool far;                     // is_far() of k and v of the whole call
  bool in_memory = false;       // is_in_memory() of them
  Size head_dim, v_dim;
  Size block_start;    // position of the block's first key, a multiple of block_keys
  Size keys;           // keys in the block, at most block_keys
  const Size* column;  // null, or the key index of each position (compaction)
  T scale, c;          // c = T(scale * log2 e), both rounded from the double scale
  const Modifiers<T>* modifiers;
  RowState<T> state;
  bool finishes;  // the block holds all that the rows see: state.acc gets O / l, and v_dim fills its vectors
  PairCounts* counts;  // raised by what was done
  T* scratch;          // Kernels::attend_scratch elements
  Ahead* ahead;        // what to ask for meanwhile
};

/// fold: joins `block` behind `into`, row by row, in position order (step 5).
template <class T>
struct FoldArgs {
  Size rows, v_dim;
  RowState<T> into, block;
};

/// stream_row: to[j] = from[j] for j in [begin, end), and 0 elsewhere in [0, count), past the caches.
/// end_stream: what was streamed before is seen by every thread that sees a later store of this one. For many
/// rows at once: after each of 8 KiB it costs a third of the bandwidth.
template <class T>
struct StreamArgs {
  const T* from;
  T* to;  // overlaps from nowhere
  Size begin, end, count;
};

/// One element type's kernels.
template <class T>
struct Kernels {
  Size NR;  // columns of a panel
  void (*pack)(const PackArgs<T, T>&) noexcept;
  void (*multiply_textbook)(const MultiplyArgs<T>&) noexcept;
  void (*multiply_fused)(const MultiplyArgs<T>&) noexcept;
  void (*attend)(const AttendArgs<T>&) noexcept;
  Size attend_scratch;  // elements that attend needs at AttendArgs::scratch
  void (*fold)(const FoldArgs<T>&) noexcept;
  // out[j] = acc[j] / row_sum (step 6); out may be acc
  void (*divide)(const T* acc, T row_sum, T* out, Size v_dim) noexcept;
  // weights[j] = (weights[j] * pow2(block_max - row_max)) / row_sum, the weights of one block (step 7)
  void (*finish_weights)(T* weights, Size keys, T block_max, T row_max, T row_sum) noexcept;
  void (*stream_row)(const StreamArgs<T>&) noexcept;
  void (*end_stream)() noexcept;
  Size (*fma_peak)(
      Size iterations) noexcept;  // a loop of independent FMAs in registers; returns the flop done

  auto multiply(Arithmetic arithmetic) const noexcept {
    return arithmetic == Arithmetic::fused ? multiply_fused : multiply_textbook;
  }
};

struct KernelTable {
  const char* name;
  Kernels<float> f32;
  Kernels<double> f64;
  void (*attend_bf16)(const AttendArgs<float, bf16>&) noexcept;
  void (*attend_f16)(const AttendArgs<float, f16>&) noexcept;
  void (*pack_bf16)(const PackArgs<float, bf16>&) noexcept;
  void (*pack_f16)(const PackArgs<float, f16>&) noexcept;

  template <class T>
  const Kernels<T>& of() const noexcept;
};
template <>
inline const Kernels<float>& KernelTable::of<float>() const noexcept {
  return f32;
}
template <>
inline const Kernels<double>& KernelTable::of<double>() const noexcept {
  return f64;
}

/// The pack entry for panels of T from storage of S.
template <class T, class S>
auto pack_from(const KernelTable& table) noexcept {
  if constexpr (std::is_same_v<S, bf16>)
    return table.pack_bf16;
  else if constexpr (std::is_same_v<S, f16>)
    return table.pack_f16;
  else
    return table.of<T>().pack;
}

/// The attend entry for panels that hold S.
template <class T, class S>
auto attend_from(const KernelTable& table) noexcept {
  if constexpr (std::is_same_v<S, bf16>)
    return table.attend_bf16;
  else if constexpr (std::is_same_v<S, f16>)
    return table.attend_f16;
  else
    return table.of<T>().attend;
}

#if defined(__x86_64__)
extern const KernelTable baseline_kernels;
extern const KernelTable avx2_kernels;
extern const KernelTable avx512_kernels;
#elif defined(__aarch64__)
extern const KernelTable neon_kernels;
#endif

}  // namespace rapt::kernels
