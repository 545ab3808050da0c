// Projections under NumPy: split_heads and project_qkv. Types are checked first, then what the docstrings
// list, in that order.
#include <rapt/projection.hpp>

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "arrays.hpp"
#include "bindings.hpp"
#include "threads.hpp"

namespace rapt::python {
namespace {

py::array split_heads(const py::object& projected, const py::object& num_heads_object) {
  const Array array("projected", projected, {Element::f16, Element::f32, Element::f64});
  const std::ptrdiff_t num_heads = integer_of("num_heads", num_heads_object);
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

constexpr const char* x_axes = "[batch, tokens, width]";
constexpr const char* weight_axes = "[width, out_dim]";

/// rapt.Projection: a weight matrix packed once, of either element type.
class PackedWeight {
 public:
  template <class T>
  explicit PackedWeight(const rapt::Projection<T>& packed) : packed_(packed) {}

  Element element() const noexcept { return packed_.index() == 0 ? Element::f32 : Element::f64; }
  template <class T>
  const rapt::Projection<T>& of() const {
    return std::get<rapt::Projection<T>>(packed_);
  }
  std::ptrdiff_t in_dim() const {
    return std::visit([](const auto& packed) { return packed.in_dim(); }, packed_);
  }
  std::ptrdiff_t out_dim() const {
    return std::visit([](const auto& packed) { return packed.out_dim(); }, packed_);
  }

 private:
  std::variant<rapt::Projection<float>, rapt::Projection<double>> packed_;
};

/// A weight as an argument: an array, or one that is packed already. Its type is checked when it exists.
class Weight {
 public:
  Weight(const char* name, const py::object& object) : name_(name) {
    if (py::isinstance<PackedWeight>(object))
      packed_ = &object.cast<const PackedWeight&>();
    else
      array_.emplace(name, object);
  }

  const char* name() const noexcept { return name_; }
  void require_element_of(const Array& x) const {
    if (array_) return array_->require_element_of(x);
    if (packed_->element() != x.element())
      throw py::type_error(std::string(name_) + ": a Projection of another dtype than x; rapt does not cast");
  }
  void require_matrix() const {
    if (!array_ || array_->ndim() == 2) return;
    throw invalid_input(std::string(name_) + ": shape " + array_->shape_text() +
                        ", expected 2D [width, heads * D_head]");
  }
  std::ptrdiff_t rows() const { return array_ ? array_->extent(0) : packed_->in_dim(); }
  std::ptrdiff_t columns() const { return array_ ? array_->extent(1) : packed_->out_dim(); }

  /// A function that gives the packed weight without the GIL.
  template <class T>
  auto packing() const {
    return [packed = packed_, view = array_ ? array_->view<T, 2>(weight_axes) : View<const T, 2>{}] {
      return packed != nullptr ? packed->of<T>() : rapt::Projection<T>(view);
    };
  }

 private:
  const char* name_;
  const PackedWeight* packed_ = nullptr;
  std::optional<Array> array_;
};

std::ptrdiff_t head_dim_of(const Weight& weight, const char* heads_name, std::ptrdiff_t heads) {
  const std::ptrdiff_t width = weight.columns();
  if (width % heads == 0) return width / heads;
  throw invalid_input(std::string(weight.name()) + ": " + quoted("width", width) + " is not divisible by " +
                      quoted(heads_name, heads));
}

py::tuple project_qkv(const py::object& x_object, const py::object& w_q_object, const py::object& w_k_object,
                      const py::object& w_v_object, const py::object& num_query_heads_object,
                      const py::object& num_kv_heads_object) {
  const Array x("x", x_object);
  const Weight w_q("w_q", w_q_object), w_k("w_k", w_k_object), w_v("w_v", w_v_object);
  for (const Weight* weight : {&w_q, &w_k, &w_v}) weight->require_element_of(x);
  const std::ptrdiff_t num_query_heads = integer_of("num_query_heads", num_query_heads_object);
  const std::ptrdiff_t num_kv_heads = integer_of("num_kv_heads", num_kv_heads_object);
  if (x.ndim() != 3)
    throw invalid_input("x: shape " + x.shape_text() + ", expected 3D [batch, tokens, width]");
  if (num_query_heads < 1)
    throw invalid_input(quoted("num_query_heads", num_query_heads) + ", expected positive");
  if (num_kv_heads < 1) throw invalid_input(quoted("num_kv_heads", num_kv_heads) + ", expected positive");
  for (const Weight* weight : {&w_q, &w_k, &w_v}) weight->require_matrix();
  for (const Weight* weight : {&w_q, &w_k, &w_v}) {
    if (weight->rows() == x.extent(2)) continue;
    throw invalid_input(std::string(weight->name()) + ": " + quoted("rows", weight->rows()) +
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
    const auto input = x.view<T, 3>(x_axes);
    const auto q_weight = w_q.packing<T>(), k_weight = w_k.packing<T>(), v_weight = w_v.packing<T>();
    const auto [batch, tokens, width] = input.extents;
    const auto q = new_array<T, 4>({batch, num_query_heads, tokens, head_dim});
    const auto k = new_array<T, 4>({batch, num_kv_heads, tokens, head_dim});
    const auto v = new_array<T, 4>({batch, num_kv_heads, tokens, head_dim});
    compute([&] { rapt::project_qkv(input, q_weight(), k_weight(), v_weight(), q.view, k.view, v.view); });
    return py::make_tuple(q.array, k.array, v.array);
  });
}

std::unique_ptr<PackedWeight> pack_weight(const py::object& weight_object, const py::object& bias_object) {
  const Array weight("weight", weight_object);
  const auto bias = optional_array("bias", bias_object, real_elements);
  if (bias) bias->require_element_of(weight);
  return with_real(weight.element(), [&]<class T>() {
    const auto matrix = weight.view<T, 2>(weight_axes);
    std::optional<View<const T, 1>> addend;
    if (bias) addend = bias->view<T, 1>("[out_dim]");
    std::unique_ptr<PackedWeight> packed;
    compute([&] { packed = std::make_unique<PackedWeight>(rapt::Projection<T>(matrix, addend)); });
    return packed;
  });
}

py::object forward(const PackedWeight& weights, const py::object& x_object,
                   const py::object& num_heads_object, const py::object& out_object) {
  const Array x("x", x_object, {weights.element()});
  const auto out = optional_array("out", out_object, {weights.element()});
  const auto num_heads = optional_integer("num_heads", num_heads_object);
  if (num_heads && *num_heads < 1)
    throw invalid_input(quoted("num_heads", *num_heads) + ", expected positive");
  if (num_heads && weights.out_dim() % *num_heads != 0) {
    throw invalid_input(quoted("out_dim", weights.out_dim()) + " is not divisible by " +
                        quoted("num_heads", *num_heads));
  }
  return with_real(weights.element(), [&]<class T>() -> py::object {
    const auto input = x.view<T, 3>(x_axes);
    const std::ptrdiff_t batch = input.extents[0], tokens = input.extents[1], width = weights.out_dim();
    const auto project_to = [&](const auto& result) -> py::object {
      compute([&] { rapt::project(input, weights.of<T>(), result.view); });
      return result.array;
    };
    if (!num_heads)
      return project_to(
          given_or_new<T, 3>(out, out_object, "[batch, tokens, out_dim]", {batch, tokens, width}));
    return project_to(given_or_new<T, 4>(out, out_object, "[batch, num_heads, tokens, head_dim]",
                                         {batch, *num_heads, tokens, width / *num_heads}));
  });
}

constexpr const char* projection_doc =
    R"(A weight matrix and an optional bias, copied and packed once, for any number of calls.

    w_q = rapt.Projection(weights, bias)
    q = w_q.forward(x, num_heads=8)           # [B, 8, T, D]

project_qkv takes one in place of each weight.)";

constexpr const char* projection_init_doc = R"(__init__(self, weight, bias=None)
--

weight [width, out_dim] and bias [out_dim], float64 or float32. Later changes of the arrays change nothing here.)";

constexpr const char* forward_doc = R"(forward(self, x, *, num_heads=None, out=None)
--

x @ weight + bias: x [B, T, width] -> [B, T, out_dim], or with num_heads its heads [B, H, T, out_dim // H].

Every element is one sum in ascending order, and then the bias: the same bits for any batch, strides and threads.)";

constexpr const char* split_heads_doc = R"(split_heads(projected, num_heads)
--

The heads of a projection as a view: [B, T, H*D] -> [B, H, T, D], element [b,h,t,x] = projected[b, t, h*D + x].

ValueError, in this order: projected is not 3D; num_heads is not positive; the width is not divisible by num_heads.)";

constexpr const char* project_qkv_doc = R"(project_qkv(x, w_q, w_k, w_v, num_query_heads, num_kv_heads)
--

Queries, keys and values of x, split into heads; returns (q, k, v).

x [B, T, width], w_q [width, Hq*D], w_k and w_v [width, Hkv*D]; q [B, Hq, T, D], k and v [B, Hkv, T, D].
Each weight may also be a Projection. ValueError, in this order: x is not 3D; a head count is not positive; a weight is not 2D, or its rows are not the input
width; a weight's width is not divisible by its heads; the head widths (D_head) differ.)";

}  // namespace

void bind_projection(py::module_& module) {
  module.def("split_heads", &split_heads, split_heads_doc, py::arg("projected"), py::arg("num_heads"));
  module.def("project_qkv", &project_qkv, project_qkv_doc, py::arg("x"), py::arg("w_q"), py::arg("w_k"),
             py::arg("w_v"), py::arg("num_query_heads"), py::arg("num_kv_heads"));
  py::class_<PackedWeight>(module, "Projection", projection_doc)
      .def(py::init(&pack_weight), projection_init_doc, py::arg("weight"), py::arg("bias") = py::none())
      .def("forward", &forward, forward_doc, py::arg("x"), py::kw_only(), py::arg("num_heads") = py::none(),
           py::arg("out") = py::none())
      .def_property_readonly("in_dim", &PackedWeight::in_dim, "width of the input")
      .def_property_readonly("out_dim", &PackedWeight::out_dim, "width of the output");
}

}  // namespace rapt::python
