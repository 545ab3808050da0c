// The single-head contract under NumPy: projections and causal attention of one head, by the names of the
// lab's decode paths. The paths differ in the order of work only; rapt gives each row the same bits in all of
// them, so each computes the way that is fastest for its shapes.
#include <rapt/attention.hpp>
#include <rapt/projection.hpp>

#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "threads.hpp"

namespace rapt::python {
namespace {

struct Weights {
  Array wq, wk, wv;
};

struct Shape {
  std::ptrdiff_t batch, tokens, d_k, d_v;
};

// Types first, then shapes; x is [tokens, d_model] or [batch, tokens, d_model].
Shape checked_shape(const Array& x, const Weights& weights, std::ptrdiff_t ndim) {
  for (const Array* weight : {&weights.wq, &weights.wk, &weights.wv}) weight->require_element_of(x);
  if (x.ndim() != ndim) {
    throw invalid_input("x: shape " + x.shape_text() + ", expected " +
                        (ndim == 2 ? "2D [tokens, d_model]" : "3D [batch, tokens, d_model]"));
  }
  for (const Array* weight : {&weights.wq, &weights.wk, &weights.wv}) {
    if (weight->ndim() == 2) continue;
    throw invalid_input(std::string(weight->name()) + ": shape " + weight->shape_text() +
                        ", expected 2D [d_model, columns]");
  }
  for (const Array* array : {&x, &weights.wq, &weights.wk, &weights.wv}) {
    for (std::ptrdiff_t axis = 0; axis < array->ndim(); ++axis) {
      if (array->extent(axis) > 0) continue;
      throw invalid_input(std::string(array->name()) + ": shape " + array->shape_text() +
                          " is empty, every axis must be positive");
    }
  }
  const std::ptrdiff_t d_model = x.extent(ndim - 1);
  for (const Array* weight : {&weights.wq, &weights.wk, &weights.wv}) {
    if (weight->extent(0) == d_model) continue;
    throw invalid_input(std::string(weight->name()) + ": rows " + std::to_string(weight->extent(0)) +
                        " do not match the input width " + std::to_string(d_model) + " of x");
  }
  if (weights.wk.extent(1) != weights.wq.extent(1)) {
    throw invalid_input("wk: d_k " + std::to_string(weights.wk.extent(1)) + " is not the same as wq: d_k " +
                        std::to_string(weights.wq.extent(1)));
  }
  return {ndim == 2 ? 1 : x.extent(0), x.extent(ndim - 2), weights.wq.extent(1), weights.wv.extent(1)};
}

/// One head of every sequence, [batch, 1, tokens, dim], over an array without the head axis and perhaps
/// without batch.
template <class T>
struct HeadArray {
  py::array array;
  View<T, 4> view;
};

template <class T>
HeadArray<T> new_heads(const Shape& shape, std::ptrdiff_t dim, std::ptrdiff_t ndim) {
  if (ndim == 2) {
    const auto made = new_array<T, 2>({shape.tokens, dim});
    return {made.array, contiguous(made.view.data, {1, 1, shape.tokens, dim})};
  }
  const auto made = new_array<T, 3>({shape.batch, shape.tokens, dim});
  return {made.array, contiguous(made.view.data, {shape.batch, 1, shape.tokens, dim})};
}

template <class T, int N>
View<T, N> sequences(View<T, N> view, std::ptrdiff_t first, std::ptrdiff_t count) {
  view.data += first * view.strides[0];
  view.extents[0] = count;
  return view;
}

template <class T>
struct Head {
  Projection<T> wq, wk, wv;

  void operator()(View<const T, 3> x, View<T, 4> queries, View<T, 4> keys, View<T, 4> values,
                  View<T, 4> out) const {
    project(x, wq, queries);
    project(x, wk, keys);
    project(x, wv, values);
    AttentionOptions<T> options;
    options.causal = Causal::top_left;
    rapt::attention(queries, keys, values, out, options);
  }
};

enum class Schedule { together, one_by_one };

// ndim 2: one sequence; 3: a batch. `one_by_one` computes a batch sequence by sequence.
template <std::ptrdiff_t ndim, Schedule schedule = Schedule::together>
py::tuple cached(const py::object& x_object, const py::object& wq, const py::object& wk,
                 const py::object& wv) {
  const Array x("x", x_object);
  const Weights weights{{"wq", wq}, {"wk", wk}, {"wv", wv}};
  const Shape shape = checked_shape(x, weights, ndim);
  return with_real(x.element(), [&]<class T>() {
    const auto input = x.view<T, 3>("[batch, tokens, d_model]", true);
    const auto q_weight = weights.wq.view<T, 2>("[d_model, d_k]");
    const auto k_weight = weights.wk.view<T, 2>("[d_model, d_k]");
    const auto v_weight = weights.wv.view<T, 2>("[d_model, d_v]");
    const HeadArray<T> queries = new_heads<T>(shape, shape.d_k, ndim);
    const HeadArray<T> keys = new_heads<T>(shape, shape.d_k, ndim);
    const HeadArray<T> values = new_heads<T>(shape, shape.d_v, ndim);
    const HeadArray<T> out = new_heads<T>(shape, shape.d_v, ndim);
    compute([&] {
      const Head<T> head{Projection<T>(q_weight), Projection<T>(k_weight), Projection<T>(v_weight)};
      const std::ptrdiff_t count = schedule == Schedule::together ? shape.batch : 1;
      for (std::ptrdiff_t b = 0; b < shape.batch; b += count) {
        head(sequences(input, b, count), sequences(queries.view, b, count), sequences(keys.view, b, count),
             sequences(values.view, b, count), sequences(out.view, b, count));
      }
    });
    return py::make_tuple(out.array, keys.array, values.array);
  });
}

py::object decode_without_cache(const py::object& x, const py::object& wq, const py::object& wk,
                                const py::object& wv) {
  return cached<2>(x, wq, wk, wv)[0];
}

constexpr const char* without_cache_doc = R"(decode_without_cache(x, wq, wk, wv)
--

Causal attention of one head over one sequence; returns the output [T, d_v].

x [T, d_model], wq and wk [d_model, d_k], wv [d_model, d_v]. Row t has the bits of a decode that starts afresh for each
token. ValueError: x not 2D, a weight not 2D, an empty axis, rows that are not the input width, unequal d_k.)";

constexpr const char* cached_doc = R"(cached_attention(x, wq, wk, wv)
--

Causal attention of one head over one sequence; returns (output [T, d_v], k_cache [T, d_k], v_cache [T, d_v]).

x [T, d_model], wq and wk [d_model, d_k], wv [d_model, d_v]. ValueError as decode_without_cache.)";

constexpr const char* preallocated_doc = R"(cached_attention_preallocated(x, wq, wk, wv)
--

cached_attention with caches allocated once, as all of rapt's are: the same results, bit for bit.)";

constexpr const char* batched_doc = R"(batched_cached_attention(x, wq, wk, wv)
--

cached_attention of a batch in one call; x [B, T, d_model]; returns [B, T, d_v], [B, T, d_k], [B, T, d_v].

ValueError: x not 3D, and as decode_without_cache.)";

constexpr const char* sequential_doc = R"(sequential_cached_attention(x, wq, wk, wv)
--

batched_cached_attention sequence by sequence: the same arguments, results and bits.)";

template <class Function>
void define(py::module_& module, const char* name, Function function, const char* doc) {
  module.def(name, function, doc, py::arg("x"), py::arg("wq"), py::arg("wk"), py::arg("wv"));
}

}  // namespace

void bind_single_head(py::module_& module) {
  define(module, "decode_without_cache", &decode_without_cache, without_cache_doc);
  define(module, "cached_attention", &cached<2>, cached_doc);
  define(module, "cached_attention_preallocated", &cached<2>, preallocated_doc);
  define(module, "batched_cached_attention", &cached<3>, batched_doc);
  define(module, "sequential_cached_attention", &cached<3, Schedule::one_by_one>, sequential_doc);
}

}  // namespace rapt::python
