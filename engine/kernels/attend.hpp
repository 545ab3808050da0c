// The attend entry: some query rows against one block of keys. For each tile of rows: scores, softmax, value
// sums, fold.
#pragma once

#include "kernels/modify.hpp"
#include "kernels/softmax.hpp"
#include "kernels/value.hpp"

namespace rapt::kernels {

/// One tile of R rows, from row `first` on, of which the first live_rows count.
template <class T, class S, class Arch, int R>
struct AttendTile {
  const AttendArgs<T, S>& args;
  Size first;
  int live_rows;
  KeyRange rows[R];      // keys of the block that each row is offered; lo == hi for none
  KeyRange all, common;  // offered to some row; to each row that is offered any
  bool staircase;        // each row is offered one key more than the row before: a causal tile
  RowJoin<T> joins[R];
  T* s;          // [R][score_stride]: scores, then p, then weights
  T* exponents;  // [R][score_stride]

  RAPT_INLINE AttendTile(const AttendArgs<T, S>& call, Size first_row, int live) noexcept
      : args(call),
        first(first_row),
        live_rows(live),
        s(call.scratch),
        exponents(call.scratch + MR * score_stride<T>) {
    const Size start = args.block_start, keys = args.keys;
    Size offered = 0;
    bool all_offered = R != half_tile || live == R, climbs = true;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      joins[r].how = Join::none;
      rows[r] = {0, 0};
      // What small tiles have besides live rows are no rows.
      if (R == half_tile && r >= live) continue;
      const AttendRow& row = args.row[first + r];
      const Size lo = row.begin > start ? row.begin - start : 0;
      const Size hi = row.end - start < keys ? row.end - start : keys;
      rows[r] = {lo, hi};
      all_offered = all_offered && lo < hi;
      climbs = climbs && lo == rows[0].lo && hi == rows[0].hi + r;
      if (r < live) offered += hi - lo;
    }
    args.counts->offered += offered;
    staircase = all_offered && climbs;
    if (all_offered)
      span(0, R - 1);
    else
      drop_rows();
  }

  RAPT_INLINE void run() noexcept {
    if (all.lo >= all.hi) return;
    score_tile<T, S, Arch, R>(args, args.q + first * args.q_stride, all, s);
    if (args.modifiers->any) {
      for (int r = 0; r < live_rows; ++r)
        if (rows[r].lo < rows[r].hi) careful_row(r);
    } else {
      plain_rows();
    }
    values();
  }

 private:
  /// From the first row that is offered any keys of the block and the last: they are offered them in order.
  RAPT_INLINE void span(int earliest, int latest) noexcept {
    all = {rows[earliest].lo, rows[latest].hi};
    common = {rows[latest].lo, rows[earliest].hi};
    // Rows that share no key (a window narrower than the tile): everything is ragged.
    if (common.hi < common.lo) common = {all.hi, all.hi};
  }

  /// The constructor's end where not all rows are offered a key of the block.
  [[gnu::noinline, gnu::cold]] void drop_rows() noexcept {
    int earliest = R - 1, latest = 0;
    for (int r = 0; r < R; ++r) {
      if (rows[r].lo < rows[r].hi) {
        if (r < earliest) earliest = r;
        latest = r;
      } else {
        if (r < live_rows) args.counts->offered -= rows[r].hi - rows[r].lo;
        rows[r] = {0, 0};
      }
    }
    span(earliest, latest);
  }

  RAPT_INLINE void plain_rows() noexcept {
    constexpr int pair = R % 2 == 0 ? 2 : 1;
    T max[R];
#pragma GCC unroll 1
    for (int r = 0; r < live_rows; r += pair) {
      ask_for_values(r / pair);
      exponents_of_rows<T, Arch, pair>(PlainScore<T, Arch>{simd::broadcast<Arch>(args.c)}, rows + r, all,
                                       common, s + r * score_stride<T>, exponents + r * score_stride<T>,
                                       max + r);
    }
#pragma GCC unroll 1
    for (int r = 0; r < live_rows; r += pair) {
      ask_for_values((live_rows + r) / pair);
      T sum[pair];
      weights_of_rows<T, Arch, pair>(all, max + r, s + r * score_stride<T>, exponents + r * score_stride<T>,
                                     sum);
#pragma GCC unroll 1
      for (int i = 0; i < pair; ++i) weights_done(r + i, {max[r + i], sum[i]});
    }
  }

  /// The values that come first, some lines of each panel at a time: memory would wait for the softmax.
  RAPT_INLINE void ask_for_values([[maybe_unused]] Size time) const noexcept {
    if constexpr (R == half_tile) {
      constexpr Size lines = 6, line = 64 / static_cast<Size>(sizeof(S));
      if (!args.far) return;
      const ValueStreams streams = first_streams<T, S, Arch, R>(args);
      const S* const from = args.v + all.lo * args.v_key_stride + time * lines * line;
      for (Size l = 0; l < lines; ++l)
        for (Size panel = 0; panel < streams.count; ++panel)
          __builtin_prefetch(from + panel * streams.stride + l * line);
    }
  }

  RAPT_INLINE void weights_done(int r, BlockSums<T> block) noexcept {
    if (r >= live_rows || rows[r].lo == rows[r].hi) return;
    if (block.sum == block.sum) {
      row_done(r, block, rows[r].hi - rows[r].lo, rows[r].hi - 1);
      give_weights(r);
    } else {
      row_again(r);
    }
  }

  /// A NaN, or a y of -inf, which the plain pass cannot tell apart: once more from the scores.
  [[gnu::noinline, gnu::cold]] void row_again(int r) noexcept {
    score_tile<T, S, Arch, 1>(args, args.q + (first + r) * args.q_stride, rows[r], s + r * score_stride<T>);
    careful_row(r);
  }

  /// The row by the careful path; if it does not see its whole range, its value sum too.
  [[gnu::noinline]] void careful_row(int r) noexcept {
    SeenKeys seen;
    T* scores = s + r * score_stride<T>;
    prepare_row<T, S, Arch>(args, first + r, rows[r], scores, seen);
    args.counts->hidden += rows[r].hi - rows[r].lo - seen.visible;
    if (seen.count > 0) {
      T max, sum;
      T* const row_exponents = exponents + r * score_stride<T>;
      exponents_of_rows<T, Arch, 1>(PreparedScore<T, Arch>{}, &rows[r], rows[r], rows[r], scores,
                                    row_exponents, &max);
      weights_of_rows<T, Arch, 1>(rows[r], &max, scores, row_exponents, &sum);
      if (sum != sum) {
        // Against a NaN maximum finite keys get anything, -0 too.
        for (Size k = 0; k < seen.count; ++k) scores[seen.key[k]] = sum;
      }
      row_done(r, {max, sum}, seen.count, seen.key[seen.count - 1]);
    }
    if (seen.count < rows[r].hi - rows[r].lo) {
      value_row<T, S, Arch>(args, scores, seen.key, seen.count, joins[r],
                            args.state.acc + (first + r) * args.state.acc_stride);
      joins[r].how = Join::none;
      // The weight of a hidden key leaves as -0: in a row of NaN it alone will be 0.
      Size next = 0;
      for (Size j = rows[r].lo; j < rows[r].hi; ++j) {
        if (next < seen.count && seen.key[next] == j)
          ++next;
        else
          scores[j] = T(-0.0);
      }
    }
    give_weights(r);
  }

  /// Folds the row's block sums into its state and says how its value sum is to join.
  RAPT_INLINE void row_done(int r, BlockSums<T> block, Size count, Size last) noexcept {
    const Size i = first + r;
    const RowState<T>& state = args.state;
    if (state.seen[i] == 0) {
      state.row_max[i] = block.max;
      state.row_sum[i] = block.sum;
      joins[r].how = args.finishes ? Join::finish : Join::take;
      if (args.finishes) joins[r].sum = divisor_of<T, Arch>(block.sum);
    } else {
      joins[r].how = Join::fold;
      joins[r].by = fold_sums<T, Arch>(state.row_max[i], state.row_sum[i], block.max, block.sum);
    }
    state.seen[i] += count;
    state.last_seen[i] = args.block_start + last;
    if (args.options != nullptr && args.options[i].weights != nullptr)
      args.options[i].block_max[args.block_start / block_keys] = block.max;
  }

  /// The row's weights against the block's maximum, to where the caller wants them.
  RAPT_INLINE void give_weights(int r) noexcept {
    T* const to = args.options != nullptr ? args.options[first + r].weights : nullptr;
    if (to == nullptr) return;
    const T* from = s + r * score_stride<T>;
    const Size stride = args.modifiers->weights_stride;
    if (args.column == nullptr && stride == 1) {
      constexpr Size w = width<T, Arch>;
      Size j = rows[r].lo;
      for (; j + w <= rows[r].hi; j += w) simd::store(to + args.block_start + j, simd::load<Arch>(from + j));
      for (; j < rows[r].hi; ++j) to[args.block_start + j] = from[j];
    } else {
      for (Size j = rows[r].lo; j < rows[r].hi; ++j) at_key(args, to, stride, j) = from[j];
    }
  }

  RAPT_INLINE void values() noexcept {
    value_tile<T, S, Arch, R>(args, s, all, common, staircase, rows, joins,
                              args.state.acc + first * args.state.acc_stride);
  }
};

/// A function of its own for each size of tile: GCC does worse by the loops of a function that holds them
/// all.
template <class T, class S, class Arch, int R>
[[gnu::noinline]] void attend_tile(const AttendArgs<T, S>& args, Size row, int live_rows) noexcept {
  AttendTile<T, S, Arch, R>(args, row, live_rows).run();
}

/// 16-bit storage is for decode: many rows do better on a widened block, so no large tile is made for it.
template <class T, class Arch, class S>
void attend(const AttendArgs<T, S>& args) noexcept {
  const auto tile = [&]<int R>(Size row, int live_rows = R) __attribute__((always_inline)) {
    attend_tile<T, S, Arch, R>(args, row, live_rows);
  };
  if constexpr (std::is_same_v<T, S>) {
    if (!in_small_tiles<T, S>(args.rows)) {
      // Where the first rows see next to nothing (those of a causal head), one more whole tile, of which only
      // they count, takes less than small ones to start.
      const Size left = args.rows % MR;
      const bool one_more = left > 0 && args.row[MR - 1].end - args.block_start <= NR<T, Arch>;
      const Size first = one_more ? left : args.rows - rows_in_whole_tiles(args.rows);
#pragma GCC unroll 1
      for (Size row = first; row < args.rows; row += MR) tile.template operator()<MR>(row);
      if (!one_more) return for_rows_left(first, tile);
      return tile.template operator()<MR>(0, static_cast<int>(left));
    }
  }
  // A decode step of a group of heads waits for panels, and small tiles ask for them. Two or three rows are
  // one tile too: two tiles of one row would read the panels twice.
  Size row = 0;
  for (; row + 1 < args.rows; row += half_tile)
    tile.template operator()<half_tile>(
        row, args.rows - row < half_tile ? static_cast<int>(args.rows - row) : half_tile);
  if (row < args.rows) tile.template operator()<1>(row);
}

}  // namespace rapt::kernels
