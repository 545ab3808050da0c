// KvCache with NumPy arrays: making one, appending to it and attending over it; and kv_capacity().
#include <rapt/capacity.hpp>

#include <memory>
#include <string>

#include "bindings.hpp"
#include "cache.hpp"

namespace rapt::python {
namespace {

constexpr const char* q_axes = "[batch, n_heads, tokens, head_dim]";
constexpr const char* k_axes = "[batch, n_kv_heads, tokens, head_dim]";
constexpr const char* v_axes = "[batch, n_kv_heads, tokens, v_dim]";
constexpr const char* out_axes = "[batch, n_heads, tokens, v_dim]";

KvDtype dtype_named(const py::object& dtype) {
  return choice_of<KvDtype>(
      "dtype", dtype,
      {{"f32", KvDtype::f32}, {"f64", KvDtype::f64}, {"bf16", KvDtype::bf16}, {"f16", KvDtype::f16}});
}

std::ptrdiff_t itemsize_of(KvDtype dtype) {
  if (dtype == KvDtype::f64) return 8;
  return dtype == KvDtype::f32 ? 4 : 2;
}

std::ptrdiff_t kv_capacity(const py::object& batch, const py::object& n_kv_heads, const py::object& tokens,
                           const py::object& head_dim, const py::object& v_dim, const py::object& layers,
                           const py::object& dtype) {
  return rapt::kv_capacity({.batch = integer_of("batch", batch),
                            .n_kv_heads = integer_of("n_kv_heads", n_kv_heads),
                            .tokens = integer_of("tokens", tokens),
                            .head_dim = integer_of("head_dim", head_dim),
                            .v_dim = optional_integer("v_dim", v_dim),
                            .layers = integer_of("layers", layers),
                            .itemsize = itemsize_of(dtype_named(dtype))});
}

std::optional<RopeOptions> rope_options(const py::object& rope_base, const py::object& rope_interleaved) {
  const auto base = optional_real("rope_base", rope_base);
  const bool interleaved = flag_of("rope_interleaved", rope_interleaved);
  if (!base) return std::nullopt;
  return RopeOptions{.base = *base, .interleaved = interleaved};
}

/// Keys and values of one call: types are checked when it exists.
struct Chunk {
  Chunk(const Cache& cache, const py::object& k_object, const py::object& v_object,
        const py::object& key_mask_object)
      : k("k", k_object, cache.stored()),
        v("v", v_object, cache.stored()),
        key_mask(optional_array("key_mask", key_mask_object, {Element::boolean})) {
    v.require_element_of(k);
  }

  std::optional<View<const bool, 2>> mask_view() const {
    if (!key_mask) return std::nullopt;
    return key_mask->view<bool, 2>("[batch, tokens]");
  }

  Array k, v;
  std::optional<Array> key_mask;
};

/// Calls body with the type that the cache computes in, T, and that of the chunk, S.
template <class Body>
decltype(auto) with_chunk(const Cache& cache, const Chunk& chunk, Body&& body) {
  if (cache.element() == Element::f64) return body.template operator()<double, double>();
  if (chunk.k.element() == Element::f16) return body.template operator()<float, f16>();
  return body.template operator()<float, float>();
}

void append(Cache& cache, const py::object& k, const py::object& v, const py::object& key_mask,
            const py::object& rope_base, const py::object& rope_interleaved) {
  const Chunk chunk(cache, k, v, key_mask);
  const auto rope = rope_options(rope_base, rope_interleaved);
  with_chunk(cache, chunk, [&]<class T, class S>() {
    const auto keys = chunk.k.view<S, 4>(k_axes);
    const auto values = chunk.v.view<S, 4>(v_axes);
    const KvAppendOptions options{.key_mask = chunk.mask_view(), .rope = rope};
    cache.write([&](KvCache& own) { own.append(keys, values, options); });
  });
}

template <class T>
NewArray<T, 4> output(const Cache& cache, const View<const T, 4>& q, const std::optional<Array>& out,
                      const py::object& out_object) {
  return given_or_new<T, 4>(out, out_object, out_axes,
                            {q.extents[0], q.extents[1], q.extents[2], *cache.options().v_dim});
}

py::object attend(Cache& cache, const py::object& q, const py::object& k, const py::object& v,
                  const py::object& key_mask, const py::object& scale, const py::object& softcap,
                  const py::object& rope_base, const py::object& rope_interleaved, const py::object& out) {
  const Array q_array("q", q, cache.own());
  const Chunk chunk(cache, k, v, key_mask);
  const auto out_array = optional_array("out", out, cache.own());
  KvAttendOptions options{.scale = optional_real("scale", scale),
                          .softcap = optional_real("softcap", softcap).value_or(0.0),
                          .rope = rope_options(rope_base, rope_interleaved)};
  return with_chunk(cache, chunk, [&]<class T, class S>() -> py::object {
    const auto queries = q_array.view<T, 4>(q_axes);
    const auto keys = chunk.k.view<S, 4>(k_axes);
    const auto values = chunk.v.view<S, 4>(v_axes);
    options.key_mask = chunk.mask_view();
    const auto result = output<T>(cache, queries, out_array, out);
    cache.write([&](KvCache& own) { own.attend(queries, keys, values, result.view, options); });
    return result.array;
  });
}

py::object query(const Cache& cache, const py::object& q, const py::object& query_mask,
                 const py::object& scale, const py::object& softcap, const py::object& rope_base,
                 const py::object& rope_interleaved, const py::object& out) {
  const Array q_array("q", q, cache.own());
  const auto mask = optional_array("query_mask", query_mask, {Element::boolean});
  const auto out_array = optional_array("out", out, cache.own());
  KvQueryOptions options{.scale = optional_real("scale", scale),
                         .softcap = optional_real("softcap", softcap).value_or(0.0),
                         .rope = rope_options(rope_base, rope_interleaved)};
  return with_real(cache.element(), [&]<class T>() -> py::object {
    const auto queries = q_array.view<T, 4>(q_axes);
    if (mask) options.query_mask = mask->view<bool, 2>("[batch, tokens]");
    const auto result = output<T>(cache, queries, out_array, out);
    cache.read([&](const KvCache& own) { own.query(queries, result.view, options); });
    return result.array;
  });
}

constexpr const char* cache_doc =
    R"(Keys and values of sequences that grow, in place; any schedule of chunks and steps has the bits of one
attention(..., causal="bottom_right", window=window). Python threads may share a cache; only query() runs beside query().)";

constexpr const char* init_doc =
    R"(__init__(self, batch, n_kv_heads, head_dim, capacity, *, v_dim=None, window=None, dtype="f32")
--

capacity counts the tokens held of each sequence. With a window (at most capacity) the oldest go when it is full; without
one more are refused. v_dim is head_dim by default. dtype is the storage: "f32", "f64" (float64 arrays), "bf16" or "f16"
(float32 arrays, rounded to nearest even when stored; "f16" takes float16 keys and values too).)";

constexpr const char* append_doc =
    R"(append(self, k, v, *, key_mask=None, rope_base=None, rope_interleaved=False)
--

Stores k [B, Hkv, T, D] and v [B, Hkv, T, Dv] behind what is there.

key_mask bool [B, T]: False is padding, which is never stored and has no position. rope_base rotates each key at its
position before it is stored. ValueError beyond the capacity; nothing is then changed.)";

constexpr const char* attend_doc =
    R"(attend(self, q, k, v, *, key_mask=None, scale=None, softcap=0.0, rope_base=None, rope_interleaved=False, out=None)
--

append(k, v), and attention of q [B, Hq, T, D] over everything up to each row; returns out [B, Hq, T, Dv].

Row t sees what was stored before and the chunk's real keys up to t, within the window. rope_base rotates q and k.)";

constexpr const char* query_doc =
    R"(query(self, q, *, query_mask=None, scale=None, softcap=0.0, rope_base=None, rope_interleaved=False, out=None)
--

Attention of q [B, Hq, T, D] over what is stored; returns out [B, Hq, T, Dv].

Row t stands at position length - T + t; with query_mask bool [B, T] the real rows are the last positions in order and
the others give zeros. ValueError when a key that a row sees is no longer held.)";

constexpr const char* capacity_doc =
    R"(kv_capacity(batch, n_kv_heads, tokens, head_dim, *, v_dim=None, layers=1, dtype="f32")
--

Payload bytes of a KV cache: layers * batch * n_kv_heads * tokens * (head_dim + v_dim) * itemsize, v_dim = head_dim by
default: k_cache.nbytes + v_cache.nbytes of plain arrays. dtype: "f32", "f64", "bf16" or "f16".)";

}  // namespace

void bind_cache(py::module_& module) {
  const py::object none = py::none();
  py::class_<Cache> type(module, "KvCache", cache_doc);
  type.def(py::init([](const py::object& batch, const py::object& n_kv_heads, const py::object& head_dim,
                       const py::object& capacity, const py::object& v_dim, const py::object& window,
                       const py::object& dtype) {
             const KvCacheOptions options{.batch = integer_of("batch", batch),
                                          .n_kv_heads = integer_of("n_kv_heads", n_kv_heads),
                                          .head_dim = integer_of("head_dim", head_dim),
                                          .v_dim = optional_integer("v_dim", v_dim),
                                          .capacity = integer_of("capacity", capacity),
                                          .window = optional_integer("window", window),
                                          .dtype = dtype_named(dtype)};
             const WithoutGil released;
             return std::make_unique<Cache>(options);
           }),
           init_doc, py::arg("batch"), py::arg("n_kv_heads"), py::arg("head_dim"), py::arg("capacity"),
           py::kw_only(), py::arg("v_dim") = none, py::arg("window") = none, py::arg("dtype") = "f32")
      .def("append", &append, append_doc, py::arg("k"), py::arg("v"), py::kw_only(),
           py::arg("key_mask") = none, py::arg("rope_base") = none, py::arg("rope_interleaved") = false)
      .def("attend", &attend, attend_doc, py::arg("q"), py::arg("k"), py::arg("v"), py::kw_only(),
           py::arg("key_mask") = none, py::arg("scale") = none, py::arg("softcap") = 0.0,
           py::arg("rope_base") = none, py::arg("rope_interleaved") = false, py::arg("out") = none)
      .def("query", &query, query_doc, py::arg("q"), py::kw_only(), py::arg("query_mask") = none,
           py::arg("scale") = none, py::arg("softcap") = 0.0, py::arg("rope_base") = none,
           py::arg("rope_interleaved") = false, py::arg("out") = none);
  bind_cache_storage(type);
  module.def("kv_capacity", &kv_capacity, capacity_doc, py::arg("batch"), py::arg("n_kv_heads"),
             py::arg("tokens"), py::arg("head_dim"), py::kw_only(), py::arg("v_dim") = none,
             py::arg("layers") = 1, py::arg("dtype") = "f32");
}

}  // namespace rapt::python
