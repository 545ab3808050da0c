// Projections: x times a weight matrix, plus a bias, and the split into heads.
#pragma once

#include <rapt/dtype.hpp>
#include <rapt/export.hpp>
#include <rapt/view.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace rapt {

/// A weight matrix [in_dim, out_dim] and an optional bias [out_dim], packed once for the ISA that runs and
/// used any number of times. Copies share the packed weights, which never change; a moved-from Projection may
/// only be assigned or destroyed. Safe to use from many threads.
template <class T>
class RAPT_API Projection {
 public:
  /// Copies weight and bias, any strides. Memory: in_dim * out_dim elements, out_dim rounded up to a whole
  /// panel. Throws invalid_input when the bias has another length than out_dim, or std::bad_alloc.
  explicit Projection(View<const T, 2> weight, std::optional<View<const T, 1>> bias = std::nullopt);

  std::ptrdiff_t in_dim() const noexcept;
  std::ptrdiff_t out_dim() const noexcept;

  struct Packed;  ///< private to the engine
  const Packed& packed() const noexcept { return *packed_; }

 private:
  std::shared_ptr<const Packed> packed_;
};

extern template class Projection<float>;
extern template class Projection<double>;

/// out[b,t,j] = (sum over u of x[b,t,u] * weight[u,j]) + bias[j]; the sum starts at +0 and runs in ascending
/// u, so every element has the same bits for any batch, len, strides and number of threads.
///
/// Shapes: x [batch, len, in_dim], out [batch, len, out_dim]; any strides, batch and len may be 0; out must
/// not overlap x. Throws invalid_input or std::bad_alloc before anything is written. Cost: 2 * batch * len *
/// in_dim * out_dim flop; scratch of some 600 KiB a thread. Runs in the caller's TBB arena.
RAPT_API void project(View<const float, 3> x, const Projection<float>& weights, View<float, 3> out,
                      Arithmetic arithmetic = Arithmetic::fused);
RAPT_API void project(View<const double, 3> x, const Projection<double>& weights, View<double, 3> out,
                      Arithmetic arithmetic = Arithmetic::fused);

/// The same, written as heads: out [batch, n_heads, len, head_dim] with n_heads * head_dim = out_dim, in one
/// pass.
RAPT_API void project(View<const float, 3> x, const Projection<float>& weights, View<float, 4> out,
                      Arithmetic arithmetic = Arithmetic::fused);
RAPT_API void project(View<const double, 3> x, const Projection<double>& weights, View<double, 4> out,
                      Arithmetic arithmetic = Arithmetic::fused);

/// The heads of a projection without a copy: projected [batch, len, n_heads * head_dim] seen as
/// [batch, n_heads, len, head_dim], element [b,h,t,x] = projected[b, t, h * head_dim + x].
/// Throws invalid_input when n_heads is not positive ("positive") or does not divide the width ("divisible").
RAPT_API View<const float, 4> split_heads(View<const float, 3> projected, std::ptrdiff_t n_heads);
RAPT_API View<const double, 4> split_heads(View<const double, 3> projected, std::ptrdiff_t n_heads);
RAPT_API View<float, 4> split_heads(View<float, 3> projected, std::ptrdiff_t n_heads);
RAPT_API View<double, 4> split_heads(View<double, 3> projected, std::ptrdiff_t n_heads);

/// Queries, keys and values of one input, each split into heads: three calls of project().
///
/// Shapes: x [batch, len, width]; w_q [width, n_heads * D_head], w_k and w_v [width, n_kv_heads * D_head];
/// q [batch, n_heads, len, D_head], k and v [batch, n_kv_heads, len, D_head]. n_heads need not be a multiple
/// of n_kv_heads here. Throws invalid_input, nothing written, in this order: a head count below 1
/// ("positive"); a weight with other rows than width ("input width"); a weight width that its heads do not
/// divide ("divisible"); unequal head widths ("D_head"); an output of another shape or one that overlaps x;
/// an arithmetic that is no enumerator. std::bad_alloc may come between two of the calls.
RAPT_API void project_qkv(View<const float, 3> x, const Projection<float>& w_q, const Projection<float>& w_k,
                          const Projection<float>& w_v, View<float, 4> q, View<float, 4> k, View<float, 4> v,
                          Arithmetic arithmetic = Arithmetic::fused);
RAPT_API void project_qkv(View<const double, 3> x, const Projection<double>& w_q,
                          const Projection<double>& w_k, const Projection<double>& w_v, View<double, 4> q,
                          View<double, 4> k, View<double, 4> v, Arithmetic arithmetic = Arithmetic::fused);

}  // namespace rapt
