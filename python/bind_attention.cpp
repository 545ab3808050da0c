// attention(), merge() and alibi_slopes(): rapt/attention.hpp with NumPy arrays.
#include <rapt/attention.hpp>

#include <cmath>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "threads.hpp"

namespace rapt::python {
namespace {

constexpr const char* q_axes = "[batch, n_heads, q_len, head_dim]";
constexpr const char* k_axes = "[batch, n_kv_heads, kv_len, head_dim]";
constexpr const char* v_axes = "[batch, n_kv_heads, kv_len, v_dim]";
constexpr const char* out_axes = "[batch, n_heads, q_len, v_dim]";
constexpr const char* pair_axes = "[batch, n_heads, q_len, kv_len]";

/// The arguments of one call: all types are checked when it exists.
struct Arguments {
  Array q, k, v;
  std::optional<Array> key_mask, key_lengths, query_mask, attend, bias, alibi_slopes, out;
};

Causal causal_of(const py::object& causal, const Arguments& arguments) {
  if (const auto given = if_bool(causal)) {
    if (!*given) return Causal::none;
    if (arguments.q.ndim() == 4 && arguments.k.ndim() == 4 &&
        arguments.q.extent(2) != arguments.k.extent(2)) {
      throw invalid_input("causal: True with q_len " + std::to_string(arguments.q.extent(2)) +
                          " and kv_len " + std::to_string(arguments.k.extent(2)) +
                          " does not say which corner; give \"top_left\" or \"bottom_right\"");
    }
    return Causal::top_left;
  }
  if (py::isinstance<py::str>(causal)) {
    if (is_word("causal", causal, "top_left")) return Causal::top_left;
    if (is_word("causal", causal, "bottom_right")) return Causal::bottom_right;
  }
  throw invalid_input("causal: " + py::repr(causal).cast<std::string>() +
                      ", expected False, True, \"top_left\" or \"bottom_right\"");
}

/// The numbers of one call.
struct Numbers {
  std::optional<double> scale;
  std::optional<std::ptrdiff_t> window;
  std::optional<double> softcap;
};

// In single precision 0 would be none, and infinity not what was given.
template <class T>
T softcap_of(double given) {
  const T softcap = static_cast<T>(given);
  if (static_cast<double>(softcap) == given || std::isnan(given)) return softcap;
  if (softcap == T(0) || std::isinf(softcap)) {
    throw invalid_input("softcap: " + py::repr(py::float_(given)).cast<std::string>() + " is " +
                        (softcap == T(0) ? "0" : "infinite") + " in single precision");
  }
  return softcap;
}

template <class T>
AttentionOptions<T> options_of(const Arguments& arguments, const py::object& causal, const Numbers& numbers) {
  AttentionOptions<T> options;
  options.scale = numbers.scale;
  options.causal = causal_of(causal, arguments);
  options.window = numbers.window;
  if (numbers.softcap) options.softcap = softcap_of<T>(*numbers.softcap);
  if (arguments.key_mask) options.key_mask = arguments.key_mask->view<bool, 2>("[batch, kv_len]");
  if (arguments.key_lengths) options.key_lengths = arguments.key_lengths->view<std::ptrdiff_t, 1>("[batch]");
  if (arguments.query_mask) options.query_mask = arguments.query_mask->view<bool, 2>("[batch, q_len]");
  if (arguments.attend) options.attend = arguments.attend->view<bool, 4>(pair_axes, true);
  if (arguments.bias) options.bias = arguments.bias->view<T, 4>(pair_axes, true);
  if (arguments.alibi_slopes) options.alibi_slopes = arguments.alibi_slopes->view<T, 1>("[n_heads]");
  return options;
}

struct Wanted {
  bool weights, scores, lse, report;
};

py::dict report_dict(const AttentionReport& report) {
  py::dict dict;
  dict["dot_products"] = report.dot_products;
  dict["visible_pairs"] = report.visible_pairs;
  dict["bytes_read"] = report.bytes_read;
  return dict;
}

// T: queries and results; S: storage of keys and values.
template <class T, class S>
py::object attention_of(const Arguments& arguments, AttentionOptions<T> options, const Wanted& wanted,
                        const py::object& out_object) {
  const auto q = arguments.q.view<T, 4>(q_axes);
  const auto k = arguments.k.view<S, 4>(k_axes);
  const auto v = arguments.v.view<S, 4>(v_axes);
  const auto out = given_or_new<T, 4>(arguments.out, out_object, out_axes,
                                      {q.extents[0], q.extents[1], q.extents[2], v.extents[3]});
  const std::array pairs{q.extents[0], q.extents[1], q.extents[2], k.extents[2]};
  std::optional<NewArray<T, 4>> weights, scores;
  std::optional<NewArray<T, 3>> lse;
  if (wanted.weights) options.weights = weights.emplace(new_array<T, 4>(pairs)).view;
  if (wanted.scores) options.scores = scores.emplace(new_array<T, 4>(pairs)).view;
  if (wanted.lse) options.lse = lse.emplace(new_array<T, 3>({q.extents[0], q.extents[1], q.extents[2]})).view;

  AttentionReport report;
  compute([&] { report = rapt::attention(q, k, v, out.view, options); });

  if (!wanted.weights && !wanted.scores && !wanted.lse && !wanted.report) return out.array;
  py::list results;
  results.append(out.array);
  if (weights) results.append(weights->array);
  if (scores) results.append(scores->array);
  if (lse) results.append(lse->array);
  if (wanted.report) results.append(report_dict(report));
  return py::tuple(results);
}

py::object attention(const py::object& q, const py::object& k, const py::object& v, const py::object& causal,
                     const py::object& scale, const py::object& window, const py::object& softcap,
                     const py::object& key_mask, const py::object& key_lengths, const py::object& query_mask,
                     const py::object& attend, const py::object& bias, const py::object& alibi_slopes,
                     const py::object& return_weights, const py::object& return_scores,
                     const py::object& return_lse, const py::object& return_report, const py::object& out) {
  const Array q_array("q", q);
  const Elements stored =
      q_array.element() == Element::f32 ? Elements{Element::f32, Element::f16} : Elements{Element::f64};
  const Elements own = q_array.element() == Element::f32 ? Elements{Element::f32} : Elements{Element::f64};
  const Arguments arguments{
      .q = q_array,
      .k = Array("k", k, stored),
      .v = Array("v", v, stored),
      .key_mask = optional_array("key_mask", key_mask, {Element::boolean}),
      .key_lengths = optional_array("key_lengths", key_lengths, {Element::i64}),
      .query_mask = optional_array("query_mask", query_mask, {Element::boolean}),
      .attend = optional_array("attend", attend, {Element::boolean}),
      .bias = optional_array("bias", bias, own),
      .alibi_slopes = optional_array("alibi_slopes", alibi_slopes, own),
      .out = optional_array("out", out, own),
  };
  arguments.v.require_element_of(arguments.k);
  const Numbers numbers{optional_real("scale", scale), optional_integer("window", window),
                        optional_real("softcap", softcap)};
  const Wanted wanted{flag_of("return_weights", return_weights), flag_of("return_scores", return_scores),
                      flag_of("return_lse", return_lse), flag_of("return_report", return_report)};
  return with_real(q_array.element(), [&]<class T>() -> py::object {
    const auto options = options_of<T>(arguments, causal, numbers);
    if constexpr (std::is_same_v<T, float>) {
      if (arguments.k.element() == Element::f16) return attention_of<T, f16>(arguments, options, wanted, out);
    }
    return attention_of<T, T>(arguments, options, wanted, out);
  });
}

py::tuple merge(const py::object& out1, const py::object& lse1, const py::object& out2,
                const py::object& lse2) {
  const Array arrays[]{{"out1", out1}, {"lse1", lse1}, {"out2", out2}, {"lse2", lse2}};
  for (const Array& each : arrays) each.require_element_of(arrays[0]);
  return with_real(arrays[0].element(), [&]<class T>() {
    constexpr const char* lse_axes = "[batch, n_heads, q_len]";
    const auto first = arrays[0].view<T, 4>(out_axes);
    const auto first_lse = arrays[1].view<T, 3>(lse_axes);
    const auto second = arrays[2].view<T, 4>(out_axes);
    const auto second_lse = arrays[3].view<T, 3>(lse_axes);
    const auto out = new_array<T, 4>(first.extents);
    const auto lse = new_array<T, 3>(first_lse.extents);
    compute([&] { rapt::merge(first, first_lse, second, second_lse, out.view, lse.view); });
    return py::make_tuple(out.array, lse.array);
  });
}

py::array alibi_slopes(const py::object& n_heads_object, const py::object& max_bias,
                       const py::object& dtype) {
  const std::ptrdiff_t n_heads = integer_of("n_heads", n_heads_object);
  const double bias = real_of("max_bias", max_bias);
  const auto element = choice_of<Element>("dtype", dtype, {{"f32", Element::f32}, {"f64", Element::f64}});
  if (n_heads < 1) throw invalid_input("n_heads: " + std::to_string(n_heads) + ", expected at least 1");
  return with_real(element, [&]<class T>() -> py::array {
    const auto slopes = new_array<T, 1>({n_heads});
    rapt::alibi_slopes(slopes.view, bias);
    return slopes.array;
  });
}

constexpr const char* attention_doc =
    R"(attention(q, k, v, *, causal=False, scale=None, window=None, softcap=0.0, key_mask=None, key_lengths=None, query_mask=None, attend=None, bias=None, alibi_slopes=None, return_weights=False, return_scores=False, return_lse=False, return_report=False, out=None)
--

softmax(scale * q k^T + ...) v, exact and with reproducible bits.

q [B, Hq, Tq, D], k [B, Hkv, Tkv, D], v [B, Hkv, Tkv, Dv]; returns out [B, Hq, Tq, Dv]. float64, or float32 with k
and v float32 or float16. Any strides; nothing is copied or cast. Hkv divides Hq; query head h reads head h // (Hq // Hkv).

causal        False, "top_left" (row i sees keys up to i), "bottom_right" (up to i + L - Tq, L = key_lengths[b] or
              Tkv), True when Tq == Tkv
scale         multiplies q k^T; 1/sqrt(D) by default
window        visible keys including the row's own; needs causal
softcap       t -> softcap * tanh(t / softcap) on the scaled scores; 0 or None is none
key_mask      bool [B, Tkv], True = real; padded keys are never read
key_lengths   int64 [B]; keys from there on are never read
query_mask    bool [B, Tq]; rows behind False give zeros
attend        bool, broadcasts to [B, Hq, Tq, Tkv]; True = may attend
bias          dtype of q, broadcasts likewise; added to the scores
alibi_slopes  dtype of q, [Hq]; needs causal (see rapt.alibi_slopes)
return_...    adds, in this order: weights and scores [B, Hq, Tq, Tkv] (0 and -inf where a row does not see a key),
              lse [B, Hq, Tq], report (dict of dot_products, visible_pairs, bytes_read)
out           written and returned in place of a new array

Masks combine by "and". A row that sees no key gives zeros, weights 0 and lse -inf.
TypeError: not an array or number, or another dtype. ValueError: everything else; out is then untouched.)";

constexpr const char* merge_doc = R"(merge(out1, lse1, out2, lse2)
--

Merges attention over two disjoint sets of keys into attention over both; returns (out, lse).

out1, out2 [B, H, T, Dv], lse1, lse2 [B, H, T], as attention(..., return_lse=True) gives them. With m = max(lse1, lse2)
and wi = exp(lsei - m): out = (out1 w1 + out2 w2) / (w1 + w2), lse = m + log(w1 + w2). A part with lse -inf is ignored.)";

constexpr const char* slopes_doc = R"(alibi_slopes(n_heads, *, max_bias=8.0, dtype="f64")
--

The slopes of ALiBi, [n_heads]: 2^(-max_bias (h + 1) / n_heads) for a power of two, otherwise those of the next lower
power of two, then every other one of the next higher. dtype: "f32" or "f64", that of the queries they go with.)";

}  // namespace

void bind_attention(py::module_& module) {
  const py::object none = py::none();
  module.def("attention", &attention, attention_doc, py::arg("q"), py::arg("k"), py::arg("v"), py::kw_only(),
             py::arg("causal") = false, py::arg("scale") = none, py::arg("window") = none,
             py::arg("softcap") = 0.0, py::arg("key_mask") = none, py::arg("key_lengths") = none,
             py::arg("query_mask") = none, py::arg("attend") = none, py::arg("bias") = none,
             py::arg("alibi_slopes") = none, py::arg("return_weights") = false,
             py::arg("return_scores") = false, py::arg("return_lse") = false,
             py::arg("return_report") = false, py::arg("out") = none);
  module.def("merge", &merge, merge_doc, py::arg("out1"), py::arg("lse1"), py::arg("out2"), py::arg("lse2"));
  module.def("alibi_slopes", &alibi_slopes, slopes_doc, py::arg("n_heads"), py::kw_only(),
             py::arg("max_bias") = 8.0, py::arg("dtype") = "f64");
}

}  // namespace rapt::python
