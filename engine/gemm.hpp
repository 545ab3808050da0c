// Matrix products: cache blocking and threads around the multiply kernel. Projections and the staged program
// run on it.
#pragma once

#include <rapt/dtype.hpp>
#include <rapt/view.hpp>

#include "kernels/kernel_table.hpp"
#include "workspace.hpp"

namespace rapt {

/// A right operand [steps, columns], packed once for the active ISA and reused. Holds steps *
/// round_up(columns, NR) elements.
template <class T>
class PackedMatrix {
 public:
  /// Copies `matrix` [steps, columns], any strides. Runs on several threads when it is large.
  explicit PackedMatrix(View<const T, 2> matrix);

  Size steps() const noexcept { return steps_; }
  Size columns() const noexcept { return columns_; }
  const T* panel(Size p) const noexcept { return panels_.get() + p * panel_stride(); }
  Size panel_stride() const noexcept { return steps_ * kernels_->NR; }
  const kernels::Kernels<T>& kernels() const noexcept { return *kernels_; }

 private:
  const kernels::Kernels<T>* kernels_;
  Size steps_, columns_;
  AlignedArray<T> panels_;
};

/// c [rows, columns] = a [rows, steps] b [steps, columns]; each element one chain over the steps in ascending
/// order from +0, so that nothing depends on blocking, threads or strides. Any sizes from 0, any strides; c
/// has distinct elements and overlaps neither a nor b. Cost: 2 rows * columns * steps flop; scratch of some
/// 200 KiB a thread. Throws std::bad_alloc before anything is written.
template <class T>
void gemm(Arithmetic arithmetic, View<const T, 2> a, const PackedMatrix<T>& b, View<T, 2> c);

/// The same with b [steps, columns] as it stands: packs it first.
template <class T>
void gemm(Arithmetic arithmetic, View<const T, 2> a, View<const T, 2> b, View<T, 2> c) {
  gemm(arithmetic, a, PackedMatrix<T>(b), c);
}

}  // namespace rapt
