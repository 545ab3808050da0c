// Projections on the packed product: what is refused, and which axis of the output a column belongs to.
#include <rapt/error.hpp>
#include <rapt/projection.hpp>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "float_mode.hpp"
#include "gemm.hpp"
#include "shape_text.hpp"
#include "view_checks.hpp"

namespace rapt {

template <class T>
struct Projection<T>::Packed {
  PackedMatrix<T> weight;
  std::vector<T> bias;  // [out_dim], or empty
};

namespace {

constexpr Axes input_axes{"batch", "len", "in_dim"};
constexpr Axes heads_axes{"batch", "n_heads", "len", "head_dim"};

template <class T>
std::vector<T> copied_bias(const std::optional<View<const T, 1>>& bias, std::ptrdiff_t out_dim) {
  if (!bias) return {};
  footprint("bias", {"out_dim"}, *bias);
  if (bias->extents[0] != out_dim) {
    throw invalid_input("bias: length " + std::to_string(bias->extents[0]) +
                        " does not match weight: out_dim " + std::to_string(out_dim));
  }
  std::vector<T> copy;
  copy.reserve(static_cast<std::size_t>(out_dim));
  for (std::ptrdiff_t j = 0; j < out_dim; ++j) copy.push_back((*bias)(j));
  return copy;
}

[[noreturn]] void refuse_input_width(const char* weight, std::ptrdiff_t rows, std::ptrdiff_t width) {
  throw invalid_input(std::string(weight) + ": rows " + std::to_string(rows) +
                      " do not match the input width " + std::to_string(width) + " of x");
}

template <class T>
void require_input_width(const char* weight, const Projection<T>& weights, const View<const T, 3>& x) {
  if (weights.in_dim() != x.extents[2]) refuse_input_width(weight, weights.in_dim(), x.extents[2]);
}

std::ptrdiff_t head_dim_of(const char* name, std::ptrdiff_t width, const char* heads,
                           std::ptrdiff_t n_heads) {
  if (width % n_heads == 0) return width / n_heads;
  throw invalid_input(std::string(name) + ": width " + std::to_string(width) + " is not divisible by " +
                      heads + " " + std::to_string(n_heads));
}

template <class T>
[[noreturn]] void refuse_output(const char* name, const View<T, 4>& out, const View<T, 4>& expected) {
  throw invalid_input(std::string(name) + ": " + shape_text(out) + " where " + shape_text(expected) +
                      " was expected");
}

template <class T>
void require_output(const char* name, const View<const T, 3>& x, const View<T, 4>& out,
                    std::ptrdiff_t head_dim) {
  // Not all extents at once: that is a call of memcmp.
  if (out.extents[0] == x.extents[0] && out.extents[2] == x.extents[1] && out.extents[3] == head_dim) return;
  refuse_output(name, out, View<T, 4>{nullptr, {x.extents[0], out.extents[1], x.extents[1], head_dim}, {}});
}

// Heads are column groups of the product.
template <class T>
void write_heads(const View<const T, 3>& x, const Projection<T>& weights, const View<T, 4>& out,
                 Arithmetic arithmetic) {
  const StandardFloatMode mode;
  const auto& packed = weights.packed();
  gemm(arithmetic, x, packed.weight, packed.bias.empty() ? nullptr : packed.bias.data(),
       View<T, 4>{out.data,
                  {out.extents[0], out.extents[2], out.extents[1], out.extents[3]},
                  {out.strides[0], out.strides[2], out.strides[1], out.strides[3]}});
}

template <class T>
void checked_project(const View<const T, 3>& x, const Projection<T>& weights, const View<T, 4>& out,
                     Arithmetic arithmetic) {
  const Footprint from = footprint("x", input_axes, x);
  require_input_width("weights", weights, x);
  if (out.extents[1] < 1)
    throw invalid_input("out: n_heads is " + std::to_string(out.extents[1]) + ", expected positive");
  require_output("out", x, out, head_dim_of("weights", weights.out_dim(), "n_heads", out.extents[1]));
  const Footprint to = footprint("out", heads_axes, out);
  require_distinct(to);
  require_apart(to, from);
  require_arithmetic(arithmetic);
  write_heads(x, weights, out, arithmetic);
}

template <class T>
View<T, 4> as_one_head(const View<T, 3>& out) noexcept {
  return {out.data,
          {out.extents[0], 1, out.extents[1], out.extents[2]},
          {out.strides[0], 0, out.strides[1], out.strides[2]}};
}

template <class T>
View<T, 4> heads_of(const View<T, 3>& projected, std::ptrdiff_t n_heads) {
  footprint("projected", {"batch", "len", "width"}, projected);
  if (n_heads < 1)
    throw invalid_input("split_heads: n_heads is " + std::to_string(n_heads) + ", expected positive");
  const std::ptrdiff_t head_dim = head_dim_of("projected", projected.extents[2], "n_heads", n_heads);
  const auto [batch_stride, row_stride, column_stride] = projected.strides;
  return {projected.data,
          {projected.extents[0], n_heads, projected.extents[1], head_dim},
          {batch_stride, head_dim * column_stride, row_stride, column_stride}};
}

template <class T>
void checked_project_qkv(const View<const T, 3>& x, const Projection<T>& w_q, const Projection<T>& w_k,
                         const Projection<T>& w_v, const View<T, 4>& q, const View<T, 4>& k,
                         const View<T, 4>& v, Arithmetic arithmetic) {
  const std::array from{footprint("x", input_axes, x)};
  const auto require_heads = [](const char* name, std::ptrdiff_t n_heads) {
    if (n_heads < 1)
      throw invalid_input(std::string(name) + " is " + std::to_string(n_heads) + ", expected positive");
  };
  require_heads("q: n_heads", q.extents[1]);
  require_heads("k: n_kv_heads", k.extents[1]);
  require_heads("v: n_kv_heads", v.extents[1]);
  require_input_width("w_q", w_q, x);
  require_input_width("w_k", w_k, x);
  require_input_width("w_v", w_v, x);
  const std::ptrdiff_t head_dim = head_dim_of("w_q", w_q.out_dim(), "n_heads", q.extents[1]);
  const std::ptrdiff_t k_dim = head_dim_of("w_k", w_k.out_dim(), "n_kv_heads", k.extents[1]);
  const std::ptrdiff_t v_dim = head_dim_of("w_v", w_v.out_dim(), "n_kv_heads", v.extents[1]);
  if (k_dim != head_dim || v_dim != head_dim) {
    throw invalid_input("D_head differs: w_q gives " + std::to_string(head_dim) + ", w_k " +
                        std::to_string(k_dim) + ", w_v " + std::to_string(v_dim));
  }
  require_output("q", x, q, head_dim);
  require_output("k", x, k, head_dim);
  require_output("v", x, v, head_dim);
  require_apart(from, std::array{footprint("q", heads_axes, q), footprint("k", heads_axes, k),
                                 footprint("v", heads_axes, v)});
  require_arithmetic(arithmetic);
  write_heads(x, w_q, q, arithmetic);
  write_heads(x, w_k, k, arithmetic);
  write_heads(x, w_v, v, arithmetic);
}

}  // namespace

template <class T>
Projection<T>::Projection(View<const T, 2> weight, std::optional<View<const T, 1>> bias) {
  footprint("weight", {"in_dim", "out_dim"}, weight);
  // Whole panels are counted even where there is no row.
  if (weight.extents[1] > std::numeric_limits<std::ptrdiff_t>::max() / 2)
    refuse("weight", "out_dim " + number_text(weight.extents[1]) + " is beyond the address space");
  std::vector<T> own_bias = copied_bias(bias, weight.extents[1]);
  packed_ = std::make_shared<const Packed>(Packed{PackedMatrix<T>(weight), std::move(own_bias)});
}

template <class T>
std::ptrdiff_t Projection<T>::in_dim() const noexcept {
  return packed_->weight.steps();
}

template <class T>
std::ptrdiff_t Projection<T>::out_dim() const noexcept {
  return packed_->weight.columns();
}

template class Projection<float>;
template class Projection<double>;

void project(View<const float, 3> x, const Projection<float>& weights, View<float, 3> out,
             Arithmetic arithmetic) {
  checked_project(x, weights, as_one_head(out), arithmetic);
}
void project(View<const double, 3> x, const Projection<double>& weights, View<double, 3> out,
             Arithmetic arithmetic) {
  checked_project(x, weights, as_one_head(out), arithmetic);
}
void project(View<const float, 3> x, const Projection<float>& weights, View<float, 4> out,
             Arithmetic arithmetic) {
  checked_project(x, weights, out, arithmetic);
}
void project(View<const double, 3> x, const Projection<double>& weights, View<double, 4> out,
             Arithmetic arithmetic) {
  checked_project(x, weights, out, arithmetic);
}

View<const float, 4> split_heads(View<const float, 3> projected, std::ptrdiff_t n_heads) {
  return heads_of(projected, n_heads);
}
View<const double, 4> split_heads(View<const double, 3> projected, std::ptrdiff_t n_heads) {
  return heads_of(projected, n_heads);
}
View<float, 4> split_heads(View<float, 3> projected, std::ptrdiff_t n_heads) {
  return heads_of(projected, n_heads);
}
View<double, 4> split_heads(View<double, 3> projected, std::ptrdiff_t n_heads) {
  return heads_of(projected, n_heads);
}

void project_qkv(View<const float, 3> x, const Projection<float>& w_q, const Projection<float>& w_k,
                 const Projection<float>& w_v, View<float, 4> q, View<float, 4> k, View<float, 4> v,
                 Arithmetic arithmetic) {
  checked_project_qkv(x, w_q, w_k, w_v, q, k, v, arithmetic);
}
void project_qkv(View<const double, 3> x, const Projection<double>& w_q, const Projection<double>& w_k,
                 const Projection<double>& w_v, View<double, 4> q, View<double, 4> k, View<double, 4> v,
                 Arithmetic arithmetic) {
  checked_project_qkv(x, w_q, w_k, w_v, q, k, v, arithmetic);
}

}  // namespace rapt
