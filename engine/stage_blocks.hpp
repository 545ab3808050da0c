// The work of the staged program's attention, cut so that each stage can be timed alone. Not part of the
// library: for benchmarks and `rapt profile`.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "dispatch.hpp"
#include "run.hpp"
#include "workspace.hpp"

namespace rapt::measure {

/// Attention of rows to the keys up to their own, by the pipeline's kernels over its blocks of rows. K and V
/// are packed whole, where the pipeline appends them to a cache.
template <class T>
class StageBlocks {
 public:
  using Size = std::ptrdiff_t;

  StageBlocks(Arithmetic arithmetic, Size d, Size keys) : arithmetic_(arithmetic), d_(d), length_(keys) {}

  /// body(first, rows) for each block of the rows [begin, end), the last first; in the caller's arena where
  /// `flop` are worth it, 0 never.
  template <class Body>
  void each(Size begin, Size end, double flop, const Body& body) const {
    const Size blocks = (end - begin + block_rows - 1) / block_rows;
    run_items(blocks, worker_slots(blocks, flop), [&](Size, Size item) {
      const Size first = begin + (blocks - 1 - item) * block_rows;
      body(first, std::min(block_rows, end - first));
    });
  }

  void pack_keys(const T* k, AlignedArray<T>& panels) const {
    kernels_.pack({.source = k,
                   .step_stride = 1,
                   .column_stride = d_,
                   .step_index = nullptr,
                   .column_index = nullptr,
                   .steps = d_,
                   .columns = length_,
                   .panels = panels.get(),
                   .panel_stride = d_ * kernels_.NR});
  }
  void pack_values(const T* v, AlignedArray<T>& panels) const {
    kernels_.pack({.source = v,
                   .step_stride = d_,
                   .column_stride = 1,
                   .step_index = nullptr,
                   .column_index = nullptr,
                   .steps = length_,
                   .columns = d_,
                   .panels = panels.get(),
                   .panel_stride = length_ * kernels_.NR});
  }
  AlignedArray<T> key_panels() const { return AlignedArray<T>(d_ * round_up(length_, kernels_.NR)); }
  AlignedArray<T> value_panels() const { return AlignedArray<T>(length_ * round_up(d_, kernels_.NR)); }

  void score(const T* q, Size first, Size rows, const AlignedArray<T>& keys, T* scores, Size stride) const {
    kernels_.multiply(arithmetic_)({.a = q,
                                    .a_stride = d_,
                                    .b = keys.get(),
                                    .b_stride = d_ * kernels_.NR,
                                    .b_far = far(),
                                    .c = scores,
                                    .c_stride = stride,
                                    .rows = rows,
                                    .columns = first + rows,
                                    .steps = d_,
                                    .accumulate = false});
    const T root = std::sqrt(static_cast<T>(d_));
    for (Size r = 0; r < rows; ++r)
      kernels_.divide(scores + r * stride, root, scores + r * stride, first + r + 1);
  }

  void weigh(const T* scores, T* weights, Size keys) const {
    T most = -std::numeric_limits<T>::infinity();
    for (Size j = 0; j < keys; ++j) most = scores[j] > most ? scores[j] : most;
    T sum = 0;
    for (Size j = 0; j < keys; ++j) {
      weights[j] = std::exp(scores[j] - most);
      sum += weights[j];
    }
    kernels_.divide(weights, sum, weights, keys);
  }

  void sum(const T* weights, Size stride, Size first, Size rows, const AlignedArray<T>& values,
           T* out) const {
    kernels::MultiplyArgs<T> args{.a = weights,
                                  .a_stride = stride,
                                  .b = values.get(),
                                  .b_stride = length_ * kernels_.NR,
                                  .b_far = far(),
                                  .c = out,
                                  .c_stride = d_,
                                  .rows = rows,
                                  .columns = d_,
                                  .steps = first + 1,
                                  .accumulate = false};
    const auto multiply = kernels_.multiply(arithmetic_);
    multiply(args);
    args.rows = 1;
    args.b += args.steps * kernels_.NR;
    args.accumulate = true;
    for (Size r = 1; r < rows; ++r) {
      args.a = weights + r * stride + first + 1;
      args.c = out + r * d_;
      args.steps = r;
      multiply(args);
    }
  }

  static constexpr Size block_rows = 16;

 private:
  bool far() const noexcept {
    return kernels::is_far(static_cast<double>(d_) * static_cast<double>(length_) * sizeof(T));
  }

  const kernels::Kernels<T>& kernels_ = active_kernels().of<T>();
  Arithmetic arithmetic_;
  Size d_, length_;
};

}  // namespace rapt::measure
