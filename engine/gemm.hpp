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
  /// The panel that begins with a column, a multiple of NR.
  const T* panel_at(Size column) const noexcept { return panels_.get() + column * steps_; }
  Size panel_stride() const noexcept { return steps_ * kernels_->NR; }
  Size bytes() const noexcept { return panels_.size() * static_cast<Size>(sizeof(T)); }
  const kernels::Kernels<T>& kernels() const noexcept { return *kernels_; }

 private:
  const kernels::Kernels<T>* kernels_;
  Size steps_, columns_;
  AlignedArray<T> panels_;
};

/// c[o, t, g, x] = sum over s of a[o, t, s] * b[s, g * width + x], plus bias[g * width + x] where bias (unit
/// stride) is not null. Shapes: a [outer, len, steps], b [steps, groups * width], c [outer, len, groups,
/// width]. Each element is one chain over the steps in ascending order from +0 and then the bias, so that
/// nothing depends on blocking, threads or strides. Any sizes from 0, any strides; c has distinct elements
/// and overlaps neither a nor b. Cost: 2 outer * len * groups * width * steps flop; scratch of about 1 MiB a
/// thread. Throws std::bad_alloc before anything is written.
template <class T>
void gemm(Arithmetic arithmetic, const View<const T, 3>& a, const PackedMatrix<T>& b, const T* bias,
          const View<T, 4>& c);

/// c [rows, columns] = a [rows, steps] b [steps, columns].
template <class T>
void gemm(Arithmetic arithmetic, View<const T, 2> a, const PackedMatrix<T>& b, View<T, 2> c) {
  gemm<T>(arithmetic, {a.data, {1, a.extents[0], a.extents[1]}, {0, a.strides[0], a.strides[1]}}, b, nullptr,
          {c.data, {1, c.extents[0], 1, c.extents[1]}, {0, c.strides[0], 0, c.strides[1]}});
}

/// The same with b [steps, columns] as it stands: packs it first.
template <class T>
void gemm(Arithmetic arithmetic, View<const T, 2> a, View<const T, 2> b, View<T, 2> c) {
  gemm(arithmetic, a, PackedMatrix<T>(b), c);
}

}  // namespace rapt
