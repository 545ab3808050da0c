// The pack entry: from any strides to panels, padded keys left out. Contract in kernel_table.hpp.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/simd_lanes.hpp"

namespace rapt::kernels {

/// One panel, element by element: any strides, any index, and the panel's missing columns.
template <class T, class Arch, class S>
RAPT_INLINE void pack_elements(const PackArgs<T, S>& args, Size first_column, Size first_step, Size last_step,
                               T* panel) noexcept {
  constexpr Size nr = NR<T, Arch>;
  const Size columns = args.columns - first_column < nr ? args.columns - first_column : nr;
  for (Size s = first_step; s < last_step; ++s) {
    const S* row = args.source + (args.step_index != nullptr ? args.step_index[s] : s) * args.step_stride;
    T* to = panel + s * nr;
    for (Size c = 0; c < columns; ++c) {
      const Size column = first_column + c;
      to[c] = widen(
          row[(args.column_index != nullptr ? args.column_index[column] : column) * args.column_stride]);
    }
    for (Size c = columns; c < nr; ++c) to[c] = T(0);
  }
}

/// The first panels of a source whose columns lie side by side, all of one step before the next: the source
/// is read from end to end, which caches see coming.
template <class T, class Arch>
RAPT_INLINE void pack_rows(const PackArgs<T, T>& args, Size panels) noexcept {
  for (Size s = 0; s < args.steps; ++s) {
    const T* row = args.source + (args.step_index != nullptr ? args.step_index[s] : s) * args.step_stride;
    T* to = args.panels + s * NR<T, Arch>;
    for (Size p = 0; p < panels; ++p, row += NR<T, Arch>, to += args.panel_stride) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v)
        simd::store(to + v * width<T, Arch>, simd::load<Arch>(row + v * width<T, Arch>));
    }
  }
}

/// One whole panel whose steps lie side by side in the source (K: a column is a key, its components are
/// contiguous). 16-byte pieces of `width` keys are transposed in registers, since a scalar transpose costs 6
/// % of a causal head at T = 512. The keys of the next panel are asked for meanwhile.
template <class T, class Arch>
RAPT_INLINE void pack_transposed(const PackArgs<T, T>& args, Size first_column, T* panel) noexcept {
  constexpr Size w = width<T, Arch>;
  constexpr Size piece = 16 / static_cast<Size>(sizeof(T)), line = 64 / static_cast<Size>(sizeof(T));
  const Size whole = args.steps - args.steps % piece;
  const bool next_panel = first_column + NR<T, Arch> < args.columns;
#pragma GCC unroll 1
  for (int v = 0; v < NV; ++v) {
    // Two loops: in one, GCC reads column_index by masked loads even where it is null, and each of those
    // costs a microcode assist.
    const T* key[w];
    const Size column = first_column + v * w;
    if (args.column_index == nullptr) {
      for (Size c = 0; c < w; ++c) key[c] = args.source + (column + c) * args.column_stride;
    } else {
      for (Size c = 0; c < w; ++c) key[c] = args.source + args.column_index[column + c] * args.column_stride;
    }
#pragma GCC unroll 1
    for (Size s = 0; s < whole; s += piece) {
      if (next_panel && s % line == 0) {
#pragma GCC unroll 16
        for (Size c = 0; c < w; ++c) __builtin_prefetch(key[c] + NR<T, Arch> * args.column_stride + s);
      }
      Batch<T, Arch> out[piece];
      simd::transpose_pieces<T, Arch>(key, s, out);
#pragma GCC unroll 4
      for (Size u = 0; u < piece; ++u) simd::store(panel + (s + u) * NR<T, Arch> + v * w, out[u]);
    }
  }
  pack_elements<T, Arch>(args, first_column, whole, args.steps, panel);
}

/// 16-bit storage is widened element by element: it is read once here and reused from the panels.
template <class T, class Arch, class S>
void pack(const PackArgs<T, S>& args) noexcept {
  Size column = 0;
  if constexpr (std::is_same_v<T, S>) {
    if (args.column_stride == 1 && args.column_index == nullptr) {
      const Size panels = args.columns / NR<T, Arch>;
      pack_rows<T, Arch>(args, panels);
      column = panels * NR<T, Arch>;
    }
  }
  for (; column < args.columns; column += NR<T, Arch>) {
    T* panel = args.panels + column / NR<T, Arch> * args.panel_stride;
    if constexpr (std::is_same_v<T, S>) {
      if (column + NR<T, Arch> <= args.columns) {
        if (args.step_stride == 1 && args.step_index == nullptr) {
          pack_transposed<T, Arch>(args, column, panel);
          continue;
        }
      }
    }
    pack_elements<T, Arch>(args, column, 0, args.steps, panel);
  }
}

}  // namespace rapt::kernels
