// The micro-kernel: every matrix product of rapt (projections, scores, value sums) runs in tile_product. The
// pattern to copy.
//
// A tile is R rows of the left operand times V vectors of the right one. Each result is one chain over the
// steps in ascending order; the R * V * width chains are independent and live in registers. R is MR, or less
// for the rows that whole tiles leave; small R takes more vectors at once, because an FMA takes four cycles
// and two start in each: about eight chains must be in flight.
#pragma once

#include "kernels/panels.hpp"

namespace rapt::kernels {

/// One term of a chain. fused rounds once, textbook rounds the product and the sum.
struct FusedStep {
  template <class B>
  static RAPT_INLINE void add(B& sum, const B& a, const B& b) noexcept {
    sum = simd::fma(a, b, sum);
  }
};
struct TextbookStep {
  template <class B>
  static RAPT_INLINE void add(B& sum, const B& a, const B& b) noexcept {
    sum = sum + a * b;
  }
};
/// fused, for the sums of whole tiles or half of one that begin in registers. (Of one row, FMAs read their
/// vectors from memory themselves; a small tile from L3 takes 4 % longer, and the sums of multiply, which may
/// come from memory, are spilled.)
struct InPlaceStep {
  template <class B>
  static RAPT_INLINE void add(B& sum, const B& a, const B& b) noexcept {
    simd::add_product(sum, a, b);
  }
};

template <class T, class Arch, int R, int V>
struct Accumulators {
  Batch<T, Arch> sum[R][V];

  RAPT_INLINE void clear() noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[r][v] = simd::broadcast<Arch>(T(0));
  }
  /// N rows of M vectors of these, from row `row` and vector `vector` on.
  template <int N, int M>
  RAPT_INLINE Accumulators<T, Arch, N, M> part(int row, int vector) const noexcept {
    Accumulators<T, Arch, N, M> part;
#pragma GCC unroll 16
    for (int r = 0; r < N; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < M; ++v) part.sum[r][v] = sum[row + r][vector + v];
    return part;
  }
  template <int N, int M>
  RAPT_INLINE void set_part(int row, int vector, const Accumulators<T, Arch, N, M>& part) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < N; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < M; ++v) sum[row + r][vector + v] = part.sum[r][v];
  }
  RAPT_INLINE void read(const T* c, Size c_stride) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[r][v] = simd::load<Arch>(c + r * c_stride + v * width<T, Arch>);
  }
  /// pitch: vectors from one panel to the next.
  RAPT_INLINE void write(T* c, Size c_stride, Size pitch = NV) const noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v)
        simd::store(c + r * c_stride + (v / NV * pitch + v % NV) * width<T, Arch>, sum[r][v]);
  }
};

template <class Step, class T, class Arch, int R, int V, class S>
RAPT_INLINE void tile_step(Accumulators<T, Arch, R, V>& acc, const T* a, Size a_stride, Panels<S> b,
                           Size s) noexcept {
  if constexpr (R == 1 && registers == 16) {
    // Eight vectors, their sums and the broadcast are one more than there are registers.
    const Batch<T, Arch> left = simd::broadcast<Arch>(a[s]);
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) Step::add(acc.sum[0][v], left, b.template vector<T, Arch>(s, v));
    return;
  }
  Batch<T, Arch> right[V];
  b.template load<T, Arch, V>(s, right);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const Batch<T, Arch> left = simd::broadcast<Arch>(a[r * a_stride + s]);
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) Step::add(acc.sum[r][v], left, right[v]);
  }
}

/// sum[r][v] += a[r, s] * b[s, v] for s = 0 .. steps-1, asking meanwhile. a: row r at r * a_stride.
template <class Step, class T, class Arch, int R, int V, class S, class Ask>
RAPT_INLINE void add_steps(Accumulators<T, Arch, R, V>& acc, const T* a, Size a_stride, Panels<S> b,
                           Size steps, Ask ask) noexcept {
  Size s = 0;
#pragma GCC unroll 1
  for (; s + turn<R> <= steps; s += turn<R>) {
#pragma GCC unroll 8
    for (Size i = 0; i < turn<R>; ++i) {
      ask.step(i);
      tile_step<Step>(acc, a, a_stride, b, s + i);
    }
    ask.next_turn();
  }
#pragma GCC unroll 1
  for (; s < steps; ++s) tile_step<Step>(acc, a, a_stride, b, s);
}

/// The same of panels that are asked for where they are far.
template <class Step, class T, class Arch, int R, int V, class S, class Ask>
RAPT_INLINE void add_steps_asking(Accumulators<T, Arch, R, V>& acc, const T* a, Size a_stride, Panels<S> b,
                                  Size steps, Ask ask) noexcept {
  if (b.far)
    add_steps<Step>(acc, a, a_stride, b, steps, ask);
  else
    add_steps<Step>(acc, a, a_stride, b, steps, AskNothing{});
}

/// The same for more sums than registers: the first half of the rows reads a run of steps from memory, the
/// second from L1.
template <class Step, class T, class Arch, int R, int V, class S>
RAPT_INLINE void add_by_halves(Accumulators<T, Arch, R, V>& acc, const T* a, Size a_stride, Panels<S> b,
                               Size steps) noexcept {
  constexpr int half = R / 2;
  using Ask = AskPanels<T, Arch, half, V, S, 2>;
  constexpr Size run = Ask::ahead;
#pragma GCC unroll 1
  for (Size first = 0; first < steps; first += run) {
    const Size count = first + run < steps ? run : steps - first;
#pragma GCC unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      Accumulators<T, Arch, half, V> rows = acc.template part<half, V>(pass * half, 0);
      add_steps_asking<Step>(rows, a + pass * half * a_stride + first, a_stride, b.from(first), count,
                             Ask{b, first + Ask::ahead + pass * run / 2, steps});
      acc.set_part(pass * half, 0, rows);
    }
  }
}

/// The same for more sums than registers, which go to memory and back: a run of steps of each panel in turn.
/// The panels' loads stand one after the other in the code: by one load for all, memory is a fifth slower,
/// since the core guesses what comes by the instruction that asks.
template <class Step, class T, class Arch, int R, int V, class S>
RAPT_INLINE void add_in_turns(Accumulators<T, Arch, R, V>& acc, const T* a, Size a_stride, Panels<S> b,
                              Size steps) noexcept {
  using Ask = AskInTurns<S>;
  constexpr Size step_bytes = NR<T, Arch> * static_cast<Size>(sizeof(S)), run = Ask::run / step_bytes;
  const auto turns = [&](Size first, const auto& steps_of) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int v = 0; v < V; v += NV) {
      Accumulators<T, Arch, R, V>& kept = *simd::opaque(&acc);
      Accumulators<T, Arch, R, NV> sums = kept.template part<R, NV>(0, v);
      steps_of(sums, Panels<S>{b.at + v / NV * b.panel_stride, 0, b.step_stride, b.far}.from(first));
      kept.set_part(0, v, sums);
    }
  };
  Size first = 0;
#pragma GCC unroll 1
  for (; first + run <= steps; first += run) {
    turns(
        first, [&](auto& sums, const Panels<S>& panel) __attribute__((always_inline)) {
          const T* rows[R];
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r) rows[r] = simd::opaque(a + first + r * a_stride);
#pragma GCC unroll 16
          for (Size i = 0; i < run; ++i) {
            if (i * step_bytes % Ask::line == 0) Ask::step(panel.at + i * b.step_stride);
            Batch<T, Arch> right[NV];
            panel.template load<T, Arch, NV>(i, right);
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
              const Batch<T, Arch> left = simd::broadcast<Arch>(rows[r][i]);
#pragma GCC unroll 16
              for (int v = 0; v < NV; ++v) Step::add(sums.sum[r][v], left, right[v]);
            }
          }
        });
  }
  if (first == steps) return;
  turns(
      first, [&](auto& sums, const Panels<S>& panel) __attribute__((always_inline)) {
        add_steps<Step>(sums, a + first, a_stride, panel, steps - first, AskNothing{});
      });
}

/// sum[r][v] += a[r, s] * b[s, v] for s = 0 .. steps-1. a: row r at r * a_stride.
template <class Step, class T, class Arch, int R, int V, class S>
RAPT_INLINE void tile_product(Accumulators<T, Arch, R, V>& acc, const T* a, Size a_stride, Panels<S> b,
                              Size steps) noexcept {
  if constexpr (R != half_tile && R != 1) {
    add_steps<Step>(acc, a, a_stride, b, steps, AskNothing{});
  } else if constexpr (R == 1 || V <= vectors_at_once<R>) {
    using Ask = AskPanels<T, Arch, R, V, S, 1>;
    add_steps_asking<Step>(acc, a, a_stride, b, steps, Ask{b, Ask::ahead, steps});
  } else if constexpr (takes_turns<T, S, R> && V == vectors_in_turns) {
    add_in_turns<Step>(acc, a, a_stride, b, steps);
  } else {
    add_by_halves<Step>(acc, a, a_stride, b, steps);
  }
}

/// The same, asking for what is ahead where there is anything and the tile leaves the time. (A loop of its
/// own: asking for nothing costs a few percent.)
template <class T, class Arch, int R, int V, class S>
RAPT_INLINE void fused_product(Accumulators<T, Arch, R, V>& acc, const T* a, Size a_stride, Panels<S> b,
                               Size steps, Ahead& ahead) noexcept {
  using Step = std::conditional_t<R == MR || 2 * R == MR, InPlaceStep, FusedStep>;
  if constexpr (R == MR && V == vectors_at_once<R>) {
    using Ask = AskAhead<T, Arch>;
    if (const char* at = ahead.take(steps / turn<R> * Ask::lines * Ask::line); at != nullptr) {
      add_steps<Step>(acc, a, a_stride, b, steps, Ask{at});
      return;
    }
  }
  tile_product<Step>(acc, a, a_stride, b, steps);
}

/// Calls body.template operator()<V>(first_vector) over `vectors` vectors: V at a time, then half of that,
/// down to one, so that each call starts a panel.
template <int V, class Body>
RAPT_INLINE void for_vectors(Size vectors, const Body& body, Size first = 0) noexcept {
#pragma GCC unroll 1
  for (; first + V <= vectors; first += V) body.template operator()<V>(first);
  if constexpr (V > 2 * NV)
    for_vectors<V / 2>(vectors, body, first);
  else if constexpr (V > NV)
    for_vectors<NV>(vectors, body, first);
  else if constexpr (V > 1)
    for_vectors<1>(vectors, body, first);
}

/// The same for the vectors of K or V, body(first_vector, pitch): panels that are taken in turns, which
/// memory holds, lie `pitch` vectors apart, each stream of them from end to end, which memory likes better
/// than neighbours.
template <int V, bool turns, class Body>
RAPT_INLINE void for_streamed_vectors(Size vectors, [[maybe_unused]] bool in_memory, const Body& body) {
  Size first = 0;
  if constexpr (turns) {
    const Size groups = in_memory ? vectors / vectors_in_turns : 0;
#pragma GCC unroll 1
    for (; first < groups * NV; first += NV) body.template operator()<vectors_in_turns>(first, groups * NV);
    first = groups * vectors_in_turns;
  }
  for_vectors<V>(
      vectors,
      [&]<int W>(Size vector) __attribute__((always_inline)) { body.template operator()<W>(vector, NV); },
      first);
}

/// How many of `rows` rows go in whole tiles of MR: all but rows % MR, unless with one tile fewer less is
/// left that half_tile does not divide. (Of 6 and 4: 64 rows are ten and one, 62 are nine and two.)
RAPT_INLINE Size rows_in_whole_tiles(Size rows) noexcept {
  const Size rest = rows % MR;
  const bool halves = rows > rest && (MR + rest) % half_tile < rest % half_tile;
  return rows - rest - (halves ? MR : 0);
}

/// Calls tile.template operator()<R>(first_row) over the few rows that are left of whole tiles: R = 4 as far
/// as they go, then 1.
template <class Body>
RAPT_INLINE void for_rows_left(Size rows, const Body& tile) noexcept {
  Size row = 0;
#pragma GCC unroll 1
  for (; row + half_tile <= rows; row += half_tile) tile.template operator()<half_tile>(row);
#pragma GCC unroll 1
  for (; row < rows; ++row) tile.template operator()<1>(row);
}

}  // namespace rapt::kernels
