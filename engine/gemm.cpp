#include "gemm.hpp"

#include <algorithm>

#include "dispatch.hpp"
#include "run.hpp"

namespace rapt {
namespace {

// Blocks in the sense of Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008: a
// panel of the right operand (steps_block x NR) stays in L1, a block of the left one (rows_block x
// steps_block) in L2. Part of no result: any values give the same bits.
constexpr Size steps_block = 256;
constexpr Size rows_block = 192;
constexpr Size columns_block = 512;

// Row stride of copied left operands: an odd number of cache lines, so that the rows of a tile never share an
// L1 set.
template <class T>
constexpr Size copied_stride = steps_block + static_cast<Size>(alignment / sizeof(T));

/// Whether the multiply kernel can read rows of a in place: contiguous, and not all in the same few L1 sets.
template <class T>
bool readable_in_place(const View<const T, 2>& a) noexcept {
  constexpr Size way_bytes = 4096;
  return a.strides[1] == 1 && (a.strides[0] * static_cast<Size>(sizeof(T))) % (way_bytes / 4) != 0;
}

template <class T>
void copy_block(const View<const T, 2>& a, Size row, Size rows, Size step, Size steps, T* to) noexcept {
  for (Size r = 0; r < rows; ++r) {
    const T* from = &a(row + r, step);
    T* copy = to + r * copied_stride<T>;
    if (a.strides[1] == 1) {
      std::copy_n(from, steps, copy);
    } else {
      for (Size s = 0; s < steps; ++s) copy[s] = from[s * a.strides[1]];
    }
  }
}

/// One block of c: all steps in ascending order, c itself carrying the chains from one block of steps to the
/// next.
template <class T>
struct GemmBlock {
  kernels::Kernels<T> const& kernels;
  void (*multiply)(const kernels::MultiplyArgs<T>&) noexcept;
  View<const T, 2> a;
  const PackedMatrix<T>& b;
  View<T, 2> c;

  void operator()(Size row, Size rows, Size column, Size columns, T* copied_a, T* dense_c) const noexcept {
    const bool in_place = readable_in_place(a);
    const bool dense = c.strides[1] == 1;
    T* target = dense ? &c(row, column) : dense_c;
    const Size target_stride = dense ? c.strides[0] : columns_block;
    for (Size step = 0; step == 0 || step < b.steps(); step += steps_block) {
      const Size steps = std::min(steps_block, b.steps() - step);
      if (!in_place) copy_block(a, row, rows, step, steps, copied_a);
      multiply({.a = in_place ? &a(row, step) : copied_a,
                .a_stride = in_place ? a.strides[0] : copied_stride<T>,
                .b = b.panel(column / kernels.NR) + step * kernels.NR,
                .b_stride = b.panel_stride(),
                .c = target,
                .c_stride = target_stride,
                .rows = rows,
                .columns = columns,
                .steps = steps,
                .accumulate = step > 0});
    }
    if (!dense) {
      for (Size r = 0; r < rows; ++r)
        for (Size j = 0; j < columns; ++j) c(row + r, column + j) = dense_c[r * columns_block + j];
    }
  }
};

}  // namespace

template <class T>
PackedMatrix<T>::PackedMatrix(View<const T, 2> matrix)
    : kernels_(&active_kernels().of<T>()),
      steps_(matrix.extents[0]),
      columns_(matrix.extents[1]),
      panels_(checked_product(steps_, round_up(columns_, kernels_->NR))) {
  const Size panels = (columns_ + kernels_->NR - 1) / kernels_->NR;
  const double moved = 8.0 * static_cast<double>(steps_) *
                       static_cast<double>(columns_);  // an element costs about 8 flop's time
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
void gemm(Arithmetic arithmetic, View<const T, 2> a, const PackedMatrix<T>& b, View<T, 2> c) {
  const Size rows = c.extents[0], columns = c.extents[1];
  if (rows == 0 || columns == 0) return;
  const GemmBlock<T> block{b.kernels(), b.kernels().multiply(arithmetic), a, b, c};
  const Size row_blocks = (rows + rows_block - 1) / rows_block;
  const Size column_blocks = (columns + columns_block - 1) / columns_block;
  const double flop =
      2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(b.steps());
  const Size slots = worker_slots(row_blocks * column_blocks, flop);

  const Size copied = readable_in_place(a) ? 0 : rows_block * copied_stride<T>;
  const Size dense = c.strides[1] == 1 ? 0 : rows_block * columns_block;
  const AlignedArray<T> scratch(slots * (copied + dense));
  run_items(row_blocks * column_blocks, slots, [&](Size slot, Size item) {
    const Size row = item % row_blocks * rows_block, column = item / row_blocks * columns_block;
    T* copied_a = scratch.get() + slot * (copied + dense);
    block(row, std::min(rows_block, rows - row), column, std::min(columns_block, columns - column), copied_a,
          copied_a + copied);
  });
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;
template void gemm(Arithmetic, View<const float, 2>, const PackedMatrix<float>&, View<float, 2>);
template void gemm(Arithmetic, View<const double, 2>, const PackedMatrix<double>&, View<double, 2>);

}  // namespace rapt
