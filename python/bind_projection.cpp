// Projections under NumPy: split_heads and project_qkv. Types are checked first, then what the docstrings
// list, in that order.
#include <rapt/projection.hpp>

#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "threads.hpp"

namespace rapt::python {
namespace {

std::string quoted(const char* name, std::ptrdiff_t value) {
  return std::string(name) + " " + std::to_string(value);
}

py::array split_heads(const py::object& projected, std::ptrdiff_t num_heads) {
  const Array array("projected", projected, {Element::f16, Element::f32, Element::f64});
  if (array.ndim() != 3) {
    throw invalid_input("projected: shape " + array.shape_text() +
                        ", expected 3D [batch, tokens, num_heads * head_dim]");
  }
  if (num_heads < 1) throw invalid_input(quoted("num_heads", num_heads) + ", expected positive");
  const std::ptrdiff_t width = array.extent(2);
  if (width % num_heads != 0) {
    throw invalid_input(quoted("projected: width", width) + " is not divisible by " +
                        quoted("num_heads", num_heads));
  }
  const auto source = py::reinterpret_borrow<py::array>(projected);
  const std::ptrdiff_t head_dim = width / num_heads;
  const std::ptrdiff_t step = source.strides(2);
  return {source.dtype(),
          {array.extent(0), num_heads, array.extent(1), head_dim},
          {source.strides(0), head_dim * step, source.strides(1), step},
          source.data(),
          source};
}

std::ptrdiff_t head_dim_of(const Array& weight, const char* heads_name, std::ptrdiff_t heads) {
  const std::ptrdiff_t width = weight.extent(1);
  if (width % heads == 0) return width / heads;
  throw invalid_input(std::string(weight.name()) + ": " + quoted("width", width) + " is not divisible by " +
                      quoted(heads_name, heads));
}

py::tuple project_qkv(const py::object& x_object, const py::object& w_q_object, const py::object& w_k_object,
                      const py::object& w_v_object, std::ptrdiff_t num_query_heads,
                      std::ptrdiff_t num_kv_heads) {
  const Array x("x", x_object);
  const Array w_q("w_q", w_q_object), w_k("w_k", w_k_object), w_v("w_v", w_v_object);
  for (const Array* weight : {&w_q, &w_k, &w_v}) weight->require_element_of(x);
  if (x.ndim() != 3)
    throw invalid_input("x: shape " + x.shape_text() + ", expected 3D [batch, tokens, width]");
  if (num_query_heads < 1)
    throw invalid_input(quoted("num_query_heads", num_query_heads) + ", expected positive");
  if (num_kv_heads < 1) throw invalid_input(quoted("num_kv_heads", num_kv_heads) + ", expected positive");
  for (const Array* weight : {&w_q, &w_k, &w_v}) {
    if (weight->ndim() != 2) {
      throw invalid_input(std::string(weight->name()) + ": shape " + weight->shape_text() +
                          ", expected 2D [width, heads * D_head]");
    }
  }
  for (const Array* weight : {&w_q, &w_k, &w_v}) {
    if (weight->extent(0) == x.extent(2)) continue;
    throw invalid_input(std::string(weight->name()) + ": " + quoted("rows", weight->extent(0)) +
                        " do not match the input width " + std::to_string(x.extent(2)) + " of x");
  }
  const std::ptrdiff_t head_dim = head_dim_of(w_q, "num_query_heads", num_query_heads);
  const std::ptrdiff_t k_dim = head_dim_of(w_k, "num_kv_heads", num_kv_heads);
  const std::ptrdiff_t v_dim = head_dim_of(w_v, "num_kv_heads", num_kv_heads);
  if (k_dim != head_dim || v_dim != head_dim) {
    throw invalid_input("D_head differs: w_q gives " + std::to_string(head_dim) + ", w_k " +
                        std::to_string(k_dim) + ", w_v " + std::to_string(v_dim));
  }
  return with_real(x.element(), [&]<class T>() {
    const auto input = x.view<T, 3>("[batch, tokens, width]");
    const auto q_weight = w_q.view<T, 2>("[width, heads * D_head]");
    const auto k_weight = w_k.view<T, 2>("[width, heads * D_head]");
    const auto v_weight = w_v.view<T, 2>("[width, heads * D_head]");
    const auto [batch, tokens, width] = input.extents;
    const auto q = new_array<T, 4>({batch, num_query_heads, tokens, head_dim});
    const auto k = new_array<T, 4>({batch, num_kv_heads, tokens, head_dim});
    const auto v = new_array<T, 4>({batch, num_kv_heads, tokens, head_dim});
    compute([&] {
      rapt::project_qkv(input, Projection<T>(q_weight), Projection<T>(k_weight), Projection<T>(v_weight),
                        q.view, k.view, v.view);
    });
    return py::make_tuple(q.array, k.array, v.array);
  });
}

constexpr const char* split_heads_doc = R"(split_heads(projected, num_heads)
--

The heads of a projection as a view: [B, T, H*D] -> [B, H, T, D], element [b,h,t,x] = projected[b, t, h*D + x].

ValueError, in this order: projected is not 3D; num_heads is not positive; the width is not divisible by num_heads.)";

constexpr const char* project_qkv_doc = R"(project_qkv(x, w_q, w_k, w_v, num_query_heads, num_kv_heads)
--

Queries, keys and values of x, split into heads; returns (q, k, v).

x [B, T, width], w_q [width, Hq*D], w_k and w_v [width, Hkv*D]; q [B, Hq, T, D], k and v [B, Hkv, T, D].
ValueError, in this order: x is not 3D; a head count is not positive; a weight is not 2D, or its rows are not the input
width; a weight's width is not divisible by its heads; the head widths (D_head) differ.)";

}  // namespace

void bind_projection(py::module_& module) {
  module.def("split_heads", &split_heads, split_heads_doc, py::arg("projected"), py::arg("num_heads"));
  module.def("project_qkv", &project_qkv, project_qkv_doc, py::arg("x"), py::arg("w_q"), py::arg("w_k"),
             py::arg("w_v"), py::arg("num_query_heads"), py::arg("num_kv_heads"));
}

}  // namespace rapt::python
