// The multi-head contract under NumPy: split_heads, project_qkv, and causal attention over all heads, with
// and without a cache. Every function checks in one order: types, then what its table of errors lists, and
// computes afterwards.
#include <rapt/attention.hpp>

#include <algorithm>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "threads.hpp"

namespace rapt::python {
namespace {

constexpr const char* head_axes = "[batch, heads, tokens, head_dim]";

void require_4d(const Array& array) {
  if (array.ndim() == 4) return;
  throw invalid_input(std::string(array.name()) + ": shape " + array.shape_text() + ", expected 4D " +
                      head_axes);
}

void require_same_shape(const Array& array, const Array& other) {
  if (array.same_shape(other)) return;
  throw invalid_input(std::string(array.name()) + ": shape " + array.shape_text() + " is not the same as " +
                      other.name() + ": " + other.shape_text());
}

void require_positive_axes(const Array& array) {
  for (std::ptrdiff_t axis = 0; axis < array.ndim(); ++axis) {
    if (array.extent(axis) > 0) continue;
    throw invalid_input(std::string(array.name()) + ": shape " + array.shape_text() +
                        ", every axis must be positive");
  }
}

// Everything but the heads of q agrees, and the KV heads divide its heads.
void require_grouped(const Array& q, const Array& k, const Array& v) {
  require_same_shape(v, k);
  for (const std::ptrdiff_t axis : {0, 2, 3}) {
    if (q.extent(axis) == k.extent(axis)) continue;
    throw invalid_input(std::string("q: shape ") + q.shape_text() + " and k: " + k.shape_text() +
                        " must be the same but for the heads");
  }
}

void require_group_size(const Array& q, const Array& k) {
  if (q.extent(1) % k.extent(1) == 0) return;
  throw invalid_input(quoted("q: heads", q.extent(1)) + " is not divisible by " +
                      quoted("k: heads", k.extent(1)));
}

enum class Heads { equal, grouped };

/// q, k and v of one call: types are checked when it exists.
struct Step {
  Step(const py::object& q_object, const py::object& k_object, const py::object& v_object)
      : q("q", q_object), k("k", k_object), v("v", v_object) {
    k.require_element_of(q);
    v.require_element_of(q);
  }

  void require_shapes(Heads heads) const {
    for (const Array* array : {&q, &k, &v}) require_4d(*array);
    if (heads == Heads::grouped) {
      require_grouped(q, k, v);
    } else {
      require_same_shape(k, q);
      require_same_shape(v, q);
    }
  }
  void require_axes(Heads heads) const {
    for (const Array* array : {&q, &k, &v}) require_positive_axes(*array);
    if (heads == Heads::grouped) require_group_size(q, k);
  }

  Array q, k, v;
};

template <Heads heads>
py::tuple causal_attention(const py::object& q, const py::object& k, const py::object& v) {
  const Step step(q, k, v);
  step.require_shapes(heads);
  step.require_axes(heads);
  return with_real(step.q.element(), [&]<class T>() {
    const auto queries = step.q.view<T, 4>(head_axes);
    const auto keys = step.k.view<T, 4>(head_axes);
    const auto values = step.v.view<T, 4>(head_axes);
    const auto out = new_array<T, 4>(queries.extents);
    const std::ptrdiff_t tokens = queries.extents[2];
    const auto weights = new_array<T, 4>({queries.extents[0], queries.extents[1], tokens, tokens});
    AttentionOptions<T> options;
    options.causal = Causal::top_left;
    options.weights = weights.view;
    compute([&] { rapt::attention(queries, keys, values, out.view, options); });
    return py::make_tuple(out.array, weights.array);
  });
}

// to [b, h, first + t, :] = from [b, h, t, :].
template <class T>
void copy_tokens(const View<const T, 4>& from, const View<T, 4>& to, std::ptrdiff_t first) {
  const auto [batch, n_heads, tokens, head_dim] = from.extents;
  for (std::ptrdiff_t b = 0; b < batch; ++b) {
    for (std::ptrdiff_t h = 0; h < n_heads; ++h) {
      for (std::ptrdiff_t t = 0; t < tokens; ++t) {
        const T* row = from.data + b * from.strides[0] + h * from.strides[1] + t * from.strides[2];
        T* copy = &to(b, h, first + t, 0);
        if (from.strides[3] == 1) {
          std::copy_n(row, head_dim, copy);
        } else {
          for (std::ptrdiff_t x = 0; x < head_dim; ++x) copy[x] = row[x * from.strides[3]];
        }
      }
    }
  }
}

void require_one_token(const Step& step) {
  if (step.q.extent(2) == 1) return;
  throw invalid_input("q: shape " + step.q.shape_text() + " holds " + std::to_string(step.q.extent(2)) +
                      " tokens, a cached step takes exactly one token");
}

void require_caches(const Step& step, const std::optional<Array>& k_cache,
                    const std::optional<Array>& v_cache) {
  if (k_cache.has_value() != v_cache.has_value()) {
    throw invalid_input(std::string(k_cache ? "v_cache" : "k_cache") +
                        " is missing: give both caches or neither");
  }
  if (!k_cache) return;
  require_4d(*k_cache);
  require_4d(*v_cache);
  require_same_shape(*v_cache, *k_cache);
  for (const std::ptrdiff_t axis : {0, 1, 3}) {
    if (k_cache->extent(axis) == step.k.extent(axis)) continue;
    constexpr const char* names[]{"batch", "heads", "tokens", "head_dim"};
    throw invalid_input(quoted(std::string("k_cache: ") + names[axis], k_cache->extent(axis)) +
                        " does not match " + quoted(std::string("k: ") + names[axis], step.k.extent(axis)));
  }
}

template <Heads heads>
py::tuple cached_attention(const py::object& q, const py::object& k, const py::object& v,
                           const py::object& k_cache_object, const py::object& v_cache_object) {
  const Step step(q, k, v);
  const auto k_cache = optional_array("k_cache", k_cache_object, real_elements);
  const auto v_cache = optional_array("v_cache", v_cache_object, real_elements);
  if (k_cache) k_cache->require_element_of(step.k);
  if (v_cache) v_cache->require_element_of(step.v);
  step.require_shapes(heads);
  require_one_token(step);
  step.require_axes(heads);
  require_caches(step, k_cache, v_cache);
  return with_real(step.q.element(), [&]<class T>() {
    const auto queries = step.q.view<T, 4>(head_axes);
    const auto key = step.k.view<T, 4>(head_axes);
    const auto value = step.v.view<T, 4>(head_axes);
    const auto past_keys = k_cache ? k_cache->view<T, 4>(head_axes) : View<const T, 4>{};
    const auto past_values = v_cache ? v_cache->view<T, 4>(head_axes) : View<const T, 4>{};
    const std::ptrdiff_t past = past_keys.extents[2];
    const auto keys = new_array<T, 4>({key.extents[0], key.extents[1], past + 1, key.extents[3]});
    const auto values = new_array<T, 4>(keys.view.extents);
    const auto out = new_array<T, 4>(queries.extents);
    const auto weights = new_array<T, 4>({queries.extents[0], queries.extents[1], 1, past + 1});
    AttentionOptions<T> options;
    options.weights = weights.view;
    compute([&] {
      copy_tokens(past_keys, keys.view, 0);
      copy_tokens(key, keys.view, past);
      copy_tokens(past_values, values.view, 0);
      copy_tokens(value, values.view, past);
      rapt::attention(queries, keys.view, values.view, out.view, options);
    });
    return py::make_tuple(out.array, weights.array, keys.array, values.array);
  });
}

constexpr const char* multi_head_doc = R"(multi_head_causal_attention(q, k, v)
--

Causal attention of every head; returns (output, weights).

q, k, v [B, H, T, D] of the same shape; output [B, H, T, D], weights [B, H, T, T], exactly 0 above the diagonal.
ValueError: an array is not 4D; the shapes are not the same (nothing broadcasts); an axis is not positive.)";

constexpr const char* cached_multi_head_doc =
    R"(cached_multi_head_attention(q, k, v, k_cache=None, v_cache=None)
--

One decoding step: appends k and v to the caches and attends; returns (output, weights, k_cache, v_cache).

q, k, v [B, H, 1, D]; caches both None or both [B, H, past, D]. Returns [B, H, 1, D], [B, H, 1, past+1] and two new
caches [B, H, past+1, D]; the old ones are left alone. The output has the bits of the last row of
multi_head_causal_attention. rapt.KvCache does the same in place.
ValueError: not 4D; shapes not the same; more than one token; an axis not positive; one cache without the other; caches
not 4D or not of the same shape; caches that do not match the step.)";

constexpr const char* grouped_doc = R"(grouped_query_causal_attention(q, k, v)
--

Causal attention of Hq query heads over Hkv heads of keys and values; returns (output, weights).

q [B, Hq, T, D], k and v [B, Hkv, T, D]; query head h reads KV head h // (Hq // Hkv). Output [B, Hq, T, D], weights
[B, Hq, T, T], exactly 0 above the diagonal.
ValueError: not 4D; shapes not the same but for the heads; an axis not positive; Hq not divisible by Hkv.)";

constexpr const char* cached_grouped_doc =
    R"(cached_grouped_query_attention(q, k, v, k_cache=None, v_cache=None)
--

One decoding step of grouped heads; returns (output, weights, k_cache, v_cache).

q [B, Hq, 1, D], k and v [B, Hkv, 1, D]; caches both None or both [B, Hkv, past, D]. Returns [B, Hq, 1, D],
[B, Hq, 1, past+1] and two new caches [B, Hkv, past+1, D]; the old ones are left alone.
ValueError: as cached_multi_head_attention; Hq not divisible by Hkv.)";

}  // namespace

void bind_multi_head(py::module_& module) {
  const py::object none = py::none();
  module.def("multi_head_causal_attention", &causal_attention<Heads::equal>, multi_head_doc, py::arg("q"),
             py::arg("k"), py::arg("v"));
  module.def("grouped_query_causal_attention", &causal_attention<Heads::grouped>, grouped_doc, py::arg("q"),
             py::arg("k"), py::arg("v"));
  module.def("cached_multi_head_attention", &cached_attention<Heads::equal>, cached_multi_head_doc,
             py::arg("q"), py::arg("k"), py::arg("v"), py::arg("k_cache") = none, py::arg("v_cache") = none);
  module.def("cached_grouped_query_attention", &cached_attention<Heads::grouped>, cached_grouped_doc,
             py::arg("q"), py::arg("k"), py::arg("v"), py::arg("k_cache") = none, py::arg("v_cache") = none);
}

}  // namespace rapt::python
