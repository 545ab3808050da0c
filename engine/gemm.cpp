#include "gemm.hpp"

#include <algorithm>
#include <cstdint>

#include "dispatch.hpp"
#include "run.hpp"

namespace rapt {
namespace {

// Blocks in the sense of Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008: a
// block of the left operand (rows_block x steps_block) and some panels of the right one stay in L2. Long
// chains beat small blocks: c, whose rows often lie 4096 bytes apart, is read and written less often. Part of
// no result: any values give the same bits.
constexpr Size steps_block = 1024;
constexpr Size rows_block = 96;
constexpr Size columns_block = 128;
// A left operand that must be copied is copied for each block of columns.
constexpr Size copied_columns_block = 512;

// Row stride of copied left operands: an odd number of cache lines, so that the rows of a tile never share an
// L1 set.
template <class T>
constexpr Size copied_stride = steps_block +
                               static_cast<Size>(static_cast<std::size_t>(alignment) / sizeof(T));

// Where rows cannot be read or written in place. (Not std::optional: GCC returns it through memory, and its
// reader waits for the two stores.)
constexpr Size no_stride = PTRDIFF_MIN;

/// The stride of two axes taken as one, the second running fastest; no_stride when no single one does it.
Size merged_stride(Size outer, Size outer_stride, Size inner, Size inner_stride) noexcept {
  if (inner == 1) return outer_stride;
  if (outer == 1 || outer_stride == inner * inner_stride) return inner_stride;
  return no_stride;
}

/// The row stride with which the multiply kernel can read a in place: contiguous rows at equal distances. (Of
/// no steps, data and strides say nothing.)
template <class T>
Size in_place_stride(const View<const T, 3>& a) noexcept {
  if (a.extents[2] == 0 || a.strides[2] != 1) return no_stride;
  return merged_stride(a.extents[0], a.strides[0], a.extents[1], a.strides[1]);
}

/// The row stride with which the kernel can write c in place: contiguous rows at equal distances.
template <class T>
Size in_place_stride(const View<T, 4>& c) noexcept {
  if (merged_stride(c.extents[2], c.strides[2], c.extents[3], c.strides[3]) != 1) return no_stride;
  return merged_stride(c.extents[0], c.strides[0], c.extents[1], c.strides[1]);
}

template <class T>
void copy_block(const View<const T, 3>& a, Size row, Size rows, Size step, Size steps, T* to) noexcept {
  const Size len = a.extents[1];
  for (Size r = 0; r < rows; ++r) {
    const T* from = &a((row + r) / len, (row + r) % len, step);
    T* copy = to + r * copied_stride<T>;
    if (a.strides[2] == 1) {
      std::copy_n(from, steps, copy);
    } else {
      for (Size s = 0; s < steps; ++s) copy[s] = from[s * a.strides[2]];
    }
  }
}

/// One block of c: all steps in ascending order, c itself (or its dense stand-in, where c has no rows the
/// kernel can write) carrying the chains from one block of steps to the next; the bias comes last.
template <class T>
struct GemmBlock {
  kernels::Kernels<T> const& kernels;
  void (*multiply)(const kernels::MultiplyArgs<T>&) noexcept;
  const View<const T, 3>& a;
  const PackedMatrix<T>& b;
  const T* bias;
  const View<T, 4>& c;
  Size a_stride = in_place_stride(a), c_stride = in_place_stride(c);
  bool reads_a = a_stride != no_stride, writes_c = c_stride != no_stride;  // in place
  Size columns_at_once = reads_a ? columns_block : copied_columns_block;

  void operator()(Size row, Size rows, Size column, Size columns, T* copied_a, T* dense_c) const noexcept {
    T* target = writes_c ? c.data + row * c_stride + column : dense_c;
    const Size target_stride = writes_c ? c_stride : columns_at_once;
    for (Size step = 0; step == 0 || step < b.steps(); step += steps_block) {
      const Size steps = std::min(steps_block, b.steps() - step);
      if (!reads_a && steps > 0) copy_block(a, row, rows, step, steps, copied_a);
      multiply({.a = reads_a ? a.data + row * a_stride + step : copied_a,
                .a_stride = reads_a ? a_stride : copied_stride<T>,
                .b = b.panel_at(column) + step * kernels.NR,
                .b_stride = b.panel_stride(),
                .b_far = kernels::is_far(static_cast<double>(b.bytes())),
                .c = target,
                .c_stride = target_stride,
                .rows = rows,
                .columns = columns,
                .steps = steps,
                .accumulate = step > 0});
    }
    if (bias != nullptr) {
      for (Size r = 0; r < rows; ++r)
        for (Size j = 0; j < columns; ++j) target[r * target_stride + j] += bias[column + j];
    }
    if (!writes_c) scatter(row, rows, column, columns, dense_c);
  }

  // Group by group, so that the inner loop runs along one axis of c.
  void scatter(Size row, Size rows, Size column, Size columns, const T* dense_c) const noexcept {
    const Size len = c.extents[1], width = c.extents[3];
    for (Size j = 0; j < columns;) {
      const Size group = (column + j) / width, first = (column + j) % width;
      const Size run = std::min(width - first, columns - j);
      for (Size r = 0; r < rows; ++r) {
        T* to = &c((row + r) / len, (row + r) % len, group, first);
        const T* from = dense_c + r * columns_at_once + j;
        for (Size x = 0; x < run; ++x) to[x * c.strides[3]] = from[x];
      }
      j += run;
    }
  }
};

}  // namespace

template <class T>
PackedMatrix<T>::PackedMatrix(View<const T, 2> matrix)
    : kernels_(&active_kernels().of<T>()),
      steps_(matrix.extents[0]),
      columns_(matrix.extents[1]),
      panels_(element_count(steps_, round_up(columns_, kernels_->NR))) {
  if (steps_ == 0) return;
  const Size panels = (columns_ + kernels_->NR - 1) / kernels_->NR;
  const double moved = moved_element_flop * static_cast<double>(steps_) * static_cast<double>(columns_);
  run_items(panels, worker_slots(panels, moved), [&](Size, Size p) {
    const Size first = p * kernels_->NR;
    kernels_->pack({.source = matrix.data + first * matrix.strides[1],
                    .step_stride = matrix.strides[0],
                    .column_stride = matrix.strides[1],
                    .step_index = nullptr,
                    .column_index = nullptr,
                    .steps = steps_,
                    .columns = std::min(kernels_->NR, columns_ - first),
                    .panels = panels_.get() + p * panel_stride(),
                    .panel_stride = panel_stride()});
  });
}

template <class T>
void gemm(Arithmetic arithmetic, const View<const T, 3>& a, const PackedMatrix<T>& b, const T* bias,
          const View<T, 4>& c) {
  // Where one is 0 the products of the others may not fit.
  if (std::find(c.extents.begin(), c.extents.end(), 0) != c.extents.end()) return;
  const Size rows = c.extents[0] * c.extents[1], columns = c.extents[2] * c.extents[3];
  const GemmBlock<T> block{b.kernels(), b.kernels().multiply(arithmetic), a, b, bias, c};
  const Size row_blocks = (rows + rows_block - 1) / rows_block;
  const Size column_blocks = (columns + block.columns_at_once - 1) / block.columns_at_once;
  const double flop =
      2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(b.steps());
  const Size slots = worker_slots(row_blocks * column_blocks, flop);

  const Size copied = block.reads_a ? 0 : rows_block * copied_stride<T>;
  const Size dense = block.writes_c ? 0 : rows_block * block.columns_at_once;
  const AlignedArray<T> scratch(slots * (copied + dense));
  run_items(row_blocks * column_blocks, slots, [&](Size slot, Size item) {
    const Size row = item % row_blocks * rows_block, column = item / row_blocks * block.columns_at_once;
    T* copied_a = scratch.get() + slot * (copied + dense);
    block(row, std::min(rows_block, rows - row), column, std::min(block.columns_at_once, columns - column),
          copied_a, copied_a + copied);
  });
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;
template void gemm(Arithmetic, const View<const float, 3>&, const PackedMatrix<float>&, const float*,
                   const View<float, 4>&);
template void gemm(Arithmetic, const View<const double, 3>&, const PackedMatrix<double>&, const double*,
                   const View<double, 4>&);

}  // namespace rapt
