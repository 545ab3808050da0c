// The right operand of the micro-kernel (tile.hpp): panels as pack writes them, how many of their vectors a
// tile takes at once, and what it asks memory for meanwhile.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

namespace rapt::kernels {

/// Rows of the tiles below the largest. More sizes (8, 2) cost compile time and won nothing.
inline constexpr int half_tile = static_cast<int>(row_multiple);

/// Vectors that a tile of R rows takes at once: NV, and more where few rows would leave the FMA units waiting
/// and registers allow.
template <int R>
inline constexpr int vectors_at_once = R == 1            ? 4 * NV
                                       : registers == 32 ? 2 * NV
                                                         : NV;

/// Vectors of K or V, stored as S, that rows take at once. A tile of half_tile rows takes twice what its
/// registers hold, half of its rows at a time: memory gives more to more streams. (16 bits would be widened
/// twice, or once and kept: both cost more than they won.)
template <class T, class S, int R>
inline constexpr int streamed_vectors = (R == half_tile && std::is_same_v<T, S> ? 2 : 1) * vectors_at_once<R>;

/// Whether a tile of half_tile rows takes panels that memory holds in turns, four of them, some steps of
/// each: where half of 16 registers hold the sums of one. (16 bits in turns: 1.1 to 1.2 of the time.)
template <class T, class S, int R>
inline constexpr bool takes_turns = std::is_same_v<T, S>&& R == half_tile&& R < MR&& registers == 16;
inline constexpr int vectors_in_turns = 4 * NV;

/// The right operand of a tile: step s of vectors NV * p to NV * p + NV - 1 at [p * panel_stride + s *
/// step_stride]. S is its storage: T, or 16 bits that widen to T as they are loaded.
template <class S>
struct Panels {
  const S* at;  // the start of a panel
  Size panel_stride, step_stride;
  bool far;  // see is_far

  RAPT_INLINE Panels from(Size s) const noexcept {
    return {at + s * step_stride, panel_stride, step_stride, far};
  }

  template <class T, class Arch>
  RAPT_INLINE Batch<T, Arch> vector(Size s, int v) const noexcept {
    return simd::load_widened<T, Arch>(at + (v / NV) * panel_stride + s * step_stride, v % NV);
  }
  template <class T, class Arch, int V>
  RAPT_INLINE void load(Size s, Batch<T, Arch> (&right)[V]) const noexcept {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      right[v] = vector<T, Arch>(s, v);
      simd::pin(right[v]);
    }
  }

  /// Asks for step s of the panels of V vectors; behind the last of `steps`, for the panels that come next.
  template <class T, class Arch, int V>
  RAPT_INLINE void prefetch(Size s, Size steps) const noexcept {
    constexpr Size step_bytes = NR<T, Arch> * static_cast<Size>(sizeof(S)), line = 64;
    constexpr Size panels = (V + NV - 1) / NV;
    const S* const from =
        at + (s < steps ? s * step_stride : panels * panel_stride + (s - steps) * step_stride);
#pragma GCC unroll 16
    for (Size panel = 0; panel < panels; ++panel) {
#pragma GCC unroll 4
      for (Size byte = 0; byte < step_bytes; byte += line)
        __builtin_prefetch(reinterpret_cast<const char*>(from + panel * panel_stride) + byte);
    }
  }
};

/// Steps of tile_product in one turn of its loop, for a tile of R rows: a loop of 64 turns ends in a
/// mispredicted branch, one of 16 does not. (Of 16 registers, GCC spills fewer over eight steps.)
template <int R>
inline constexpr Size turn = (R == MR || 2 * R == MR) && registers == 16 ? 8 : 4;

/// What a product asks memory for while it runs: nothing, or `lines` cache lines a turn from `at` on, some of
/// them every step. Several at once would fill the core's line buffers, and its own loads would wait.
struct AskNothing {
  RAPT_INLINE void step(Size) const noexcept {}
  RAPT_INLINE void next_turn() noexcept {}
};
template <class T, class Arch>
struct AskAhead {
  // In proportion to a turn's work, so many that a causal head of 64 has asked for the next by its end.
  static constexpr Size line = 64,
                        tile_bytes = MR * vectors_at_once<MR> * width<T, Arch> * static_cast<Size>(sizeof(T)),
                        lines = (turn<MR> / 4 * tile_bytes + 3 * line - 1) / (3 * line);
  const char* at;

  RAPT_INLINE void step(Size i) const noexcept {
#pragma GCC unroll 4
    for (Size l = i * lines / turn<MR>; l < (i + 1) * lines / turn<MR>; ++l) simd::ask_here<2>(at + l * line);
  }
  RAPT_INLINE void next_turn() noexcept { at += lines * line; }
};

/// Small tiles read a far panel faster than memory gives it. They ask for it 4 KiB ahead, which is what
/// memory delivers in its latency: a decode step from memory takes 0.6 of the time, one from L3 0.9. Where
/// `passes` go over the same panels, each asks for its share.
template <class T, class Arch, int R, int V, class S, int passes>
struct AskPanels {
  static constexpr Size ahead = 4096 / (NR<T, Arch> * static_cast<Size>(sizeof(S)));
  Panels<S> panels;
  Size s, steps;

  RAPT_INLINE void step(Size i) const noexcept {
    if (i % passes == 0) panels.template prefetch<T, Arch, V>(s + i / passes, steps);
  }
  RAPT_INLINE void next_turn() noexcept { s += turn<R> / passes; }
};

/// What a tile asks of panels that it takes in turns: a panel's line every line of its steps, a few ahead.
/// The core has two dozen line buffers; more lines ahead than that, and the loads wait for them.
template <class S>
struct AskInTurns {
  static constexpr Size line = 64, ahead = 4 * line, run = 8 * line;

  static RAPT_INLINE void step(const S* at) noexcept {
    simd::ask_here<1>(reinterpret_cast<const char*>(at) + ahead);
  }
};

}  // namespace rapt::kernels
