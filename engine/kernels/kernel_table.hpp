// The kernels of one ISA as data: what the engine calls, and the contract of each entry.
// Kernels know pointers, sizes and strides only. They never throw, allocate, start threads or ask which dtype
// they hold.
#pragma once

#include <rapt/dtype.hpp>

#include <cstddef>

namespace rapt::kernels {

using Size = std::ptrdiff_t;

/// Keys of one block of the numeric contract: positions [256 b, 256 b + 256). Part of the results; never
/// change it.
inline constexpr Size block_keys = 256;

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
  T* c;  // row r at r * c_stride, unit column stride; may not overlap a or b; writes no column past `columns`
  Size c_stride;
  Size rows, columns, steps;  // any from 0
  bool accumulate;
};

/// One element type's kernels.
template <class T>
struct Kernels {
  Size NR;  // columns of a panel
  Size MR;  // rows of the largest tile
  void (*pack)(const PackArgs<T, T>&) noexcept;
  void (*multiply_textbook)(const MultiplyArgs<T>&) noexcept;
  void (*multiply_fused)(const MultiplyArgs<T>&) noexcept;
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

#if defined(__x86_64__)
extern const KernelTable baseline_kernels;
extern const KernelTable avx2_kernels;
extern const KernelTable avx512_kernels;
#elif defined(__aarch64__)
extern const KernelTable neon_kernels;
#endif

}  // namespace rapt::kernels
