// Refusals. Every message begins with the argument's name, says what it was and what was expected.
#include "validate.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "view_checks.hpp"

namespace rapt {
namespace {

// [batch, n_heads, q_len, kv_len], or the first three of them.
void require_pairs(const Footprint& view, const Footprint& q, const Footprint& k) {
  for (std::size_t axis = 0; axis < 3; ++axis) require_same(view, axis, q, axis);
  if (view.rank == 4) require_same(view, 3, k, 2);
}

void require_broadcast(const Footprint& view, const Footprint& q, const Footprint& k) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const Footprint& whole = axis == 3 ? k : q;
    const std::size_t whole_axis = axis == 3 ? 2 : axis;
    if (view.extents[axis] == 1 || view.extents[axis] == whole.extents[whole_axis]) continue;
    refuse(view.name,
           named(view, axis) + " does not broadcast to " + whole.name + ": " + named(whole, whole_axis));
  }
}

// The number of (row, key) pairs and the bytes of K and V can be counted.
void require_countable(const Footprint& q, const Footprint& k, const Footprint& v) {
  std::ptrdiff_t pairs = 1, bytes = k.element_size;
  bool fits = !__builtin_mul_overflow(q.extents[0], q.extents[1], &pairs);
  fits = fits && !__builtin_mul_overflow(pairs, q.extents[2], &pairs);
  fits = fits && !__builtin_mul_overflow(pairs, k.extents[2], &pairs);
  if (!fits) refuse("k", named(k, 2) + " times " + named(q, 2) + " for every head does not fit in 63 bits");
  std::ptrdiff_t dims = 0;
  fits = !__builtin_add_overflow(k.extents[3], v.extents[3], &dims) &&
         !__builtin_mul_overflow(bytes, dims, &bytes);
  for (std::size_t axis = 0; axis < 3; ++axis)
    fits = fits && !__builtin_mul_overflow(bytes, k.extents[axis], &bytes);
  if (!fits) refuse("k", named(k, 2) + " keys of every head do not fit in 63 bits");
}

template <class T>
void require_numbers(const AttentionOptions<T>& options) {
  require_scale<T>(options.scale);
  if (options.causal < Causal::none || options.causal > Causal::bottom_right)
    refuse("causal",
           number_text(static_cast<int>(options.causal)) + ", expected none, top_left or bottom_right");
  if (options.softcap && !(std::isfinite(*options.softcap) && *options.softcap >= 0)) {
    refuse("softcap", number_text(*options.softcap) + ", expected a finite number of at least 0");
  }
  if (options.window && *options.window < 1)
    refuse("window", number_text(*options.window) + ", expected at least 1");
  if (options.window && options.causal == Causal::none) {
    refuse("window",
           number_text(*options.window) + " with causal none, expected causal top_left or bottom_right");
  }
  if (options.alibi_slopes && options.causal == Causal::none) {
    refuse("alibi_slopes", "given with causal none, expected causal top_left or bottom_right");
  }
}

void require_lengths(const View<const std::ptrdiff_t, 1>& lengths, std::ptrdiff_t kv_len) {
  for (std::ptrdiff_t b = 0; b < lengths.extents[0]; ++b) {
    if (lengths(b) < 0 || lengths(b) > kv_len) {
      refuse("key_lengths", number_text(lengths(b)) + " at batch " + number_text(b) +
                                ", expected 0 to k: kv_len " + number_text(kv_len));
    }
  }
}

}  // namespace

template <class T, class Stored>
void validate(const View<const T, 4>& q_view, const View<const Stored, 4>& k_view,
              const View<const Stored, 4>& v_view, const View<T, 4>& out_view,
              const AttentionOptions<T>& options) {
  const Footprint q = footprint("q", q_axes, q_view), k = footprint("k", k_axes, k_view),
                  v = footprint("v", v_axes, v_view);
  const Footprint out = footprint("out", out_axes, out_view);
  require_positive(q, 1);
  require_positive(q, 3);
  require_positive(k, 1);
  require_positive(v, 3);
  require_same(k, 0, q, 0);
  if (q.extents[1] % k.extents[1] != 0) refuse("k", named(k, 1) + " does not divide q: " + named(q, 1));
  require_same(k, 3, q, 3);
  for (std::size_t axis = 0; axis < 3; ++axis) require_same(v, axis, k, axis);
  for (std::size_t axis = 0; axis < 3; ++axis) require_same(out, axis, q, axis);
  require_same(out, 3, v, 3);
  require_countable(q, k, v);
  require_numbers(options);

  std::vector<Footprint> inputs{q, k, v}, outputs{out};
  const auto add = [](std::vector<Footprint>& list, const char* name, const Axes& axes,
                      const auto& view) -> const Footprint* {
    return view ? &list.emplace_back(footprint(name, axes, *view)) : nullptr;
  };
  if (const Footprint* mask = add(inputs, "key_mask", key_axes, options.key_mask)) {
    require_same(*mask, 0, q, 0);
    require_same(*mask, 1, k, 2);
  }
  if (const Footprint* mask = add(inputs, "query_mask", query_axes, options.query_mask)) {
    require_same(*mask, 0, q, 0);
    require_same(*mask, 1, q, 2);
  }
  if (const Footprint* lengths = add(inputs, "key_lengths", key_axes, options.key_lengths)) {
    require_same(*lengths, 0, q, 0);
    require_lengths(*options.key_lengths, k.extents[2]);
  }
  if (const Footprint* slopes = add(inputs, "alibi_slopes", {"n_heads"}, options.alibi_slopes))
    require_same(*slopes, 0, q, 1);
  if (const Footprint* mask = add(inputs, "attend", pair_axes, options.attend))
    require_broadcast(*mask, q, k);
  if (const Footprint* bias = add(inputs, "bias", pair_axes, options.bias)) require_broadcast(*bias, q, k);
  if (const Footprint* view = add(outputs, "weights", pair_axes, options.weights)) require_pairs(*view, q, k);
  if (const Footprint* view = add(outputs, "scores", pair_axes, options.scores)) require_pairs(*view, q, k);
  if (const Footprint* view = add(outputs, "lse", pair_axes, options.lse)) require_pairs(*view, q, k);
  require_apart(inputs, outputs);
}

template <class T>
void validate_merge(const View<const T, 4>& out1_view, const View<const T, 3>& lse1_view,
                    const View<const T, 4>& out2_view, const View<const T, 3>& lse2_view,
                    const View<T, 4>& out_view, const View<T, 3>& lse_view) {
  const Footprint out = footprint("out", out_axes, out_view), lse = footprint("lse", out_axes, lse_view);
  const std::vector<Footprint> outs{footprint("out1", out_axes, out1_view),
                                    footprint("out2", out_axes, out2_view)};
  const std::vector<Footprint> lses{footprint("lse1", out_axes, lse1_view),
                                    footprint("lse2", out_axes, lse2_view)};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    require_same(outs[1], axis, outs[0], axis);
    require_same(out, axis, outs[0], axis);
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const Footprint& each : lses) require_same(each, axis, outs[0], axis);
    require_same(lse, axis, outs[0], axis);
  }
  require_apart({}, std::array{out, lse});
  const auto require_apart_or_same = [](const Footprint& output, const std::vector<Footprint>& own,
                                        const std::vector<Footprint>& other) {
    for (const Footprint& input : own) {
      if (!same_elements(output, input) && overlap(output, input)) {
        refuse(output.name, std::string("overlaps ") + input.name + " without being the same view");
      }
    }
    require_apart(other, {&output, 1});
  };
  require_apart_or_same(out, outs, lses);
  require_apart_or_same(lse, lses, outs);
}

template <class T>
void validate_alibi_slopes(const View<T, 1>& slopes_view, double max_bias) {
  const Footprint slopes = footprint("slopes", {"n_heads"}, slopes_view);
  require_positive(slopes, 0);
  require_apart({}, {&slopes, 1});
  if (!std::isfinite(max_bias)) refuse("max_bias", number_text(max_bias) + ", expected a finite number");
}

template void validate(const View<const float, 4>&, const View<const float, 4>&, const View<const float, 4>&,
                       const View<float, 4>&, const AttentionOptions<float>&);
template void validate(const View<const double, 4>&, const View<const double, 4>&,
                       const View<const double, 4>&, const View<double, 4>&, const AttentionOptions<double>&);
template void validate(const View<const float, 4>&, const View<const bf16, 4>&, const View<const bf16, 4>&,
                       const View<float, 4>&, const AttentionOptions<float>&);
template void validate(const View<const float, 4>&, const View<const f16, 4>&, const View<const f16, 4>&,
                       const View<float, 4>&, const AttentionOptions<float>&);
template void validate_merge(const View<const float, 4>&, const View<const float, 3>&,
                             const View<const float, 4>&, const View<const float, 3>&, const View<float, 4>&,
                             const View<float, 3>&);
template void validate_merge(const View<const double, 4>&, const View<const double, 3>&,
                             const View<const double, 4>&, const View<const double, 3>&,
                             const View<double, 4>&, const View<double, 3>&);
template void validate_alibi_slopes(const View<float, 1>&, double);
template void validate_alibi_slopes(const View<double, 1>&, double);

}  // namespace rapt
