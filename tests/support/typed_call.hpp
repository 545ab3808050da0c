// From a problem's data to a typed call and back: shared by run.cpp and define.cpp only, which compile it
// once each.
#pragma once

#include <stdexcept>

#include "support/run.hpp"

namespace rapt::test {

// function(q, k, v, out, options) -> AttentionReport, with T, Stored and the views of the data's dtype.
template <class T, class Stored, class Function>
Answer typed_call(const Data& data, const Call& call, Function function) {
  const Placed<T, 4> q(data.q, call.layout, call.flush_end);
  const Placed<Stored, 4> k(data.k, call.layout, call.flush_end), v(data.v, call.layout, call.flush_end);
  const auto [batch, n_heads, q_len, head_dim] = data.q.extents;
  const std::ptrdiff_t kv_len = data.k.extents[2], v_dim = data.v.extents[3];
  const Layout out_layout = call.layout == Layout::repeated ? Layout::dense : call.layout;
  Placed<T, 4> out(std::array{batch, n_heads, q_len, v_dim}, out_layout, call.flush_end);

  AttentionOptions<T> options;
  options.scale = data.problem.scale;
  options.causal = data.problem.causal;
  options.window = data.problem.window;
  if (data.problem.softcap) options.softcap = static_cast<T>(*data.problem.softcap);
  const auto input = [&call]<class E, int N>(std::optional<Placed<E, N>>& place,
                                             const std::optional<Array<N>>& values,
                                             std::optional<View<const E, N>>& view) {
    if (values) view = place.emplace(*values, call.layout, call.flush_end).view();
  };
  std::optional<Placed<bool, 2>> key_mask, query_mask;
  std::optional<Placed<std::ptrdiff_t, 1>> key_lengths;
  std::optional<Placed<bool, 4>> attend;
  std::optional<Placed<T, 4>> bias;
  std::optional<Placed<T, 1>> slopes;
  input(key_mask, data.key_mask, options.key_mask);
  input(query_mask, data.query_mask, options.query_mask);
  input(key_lengths, data.key_lengths, options.key_lengths);
  input(attend, data.attend, options.attend);
  input(bias, data.bias, options.bias);
  input(slopes, data.alibi_slopes, options.alibi_slopes);

  std::optional<Placed<T, 4>> weights, scores;
  std::optional<Placed<T, 3>> lse;
  if (call.weights) {
    options.weights =
        weights.emplace(std::array{batch, n_heads, q_len, kv_len}, out_layout, call.flush_end).view();
  }
  if (call.scores) {
    options.scores =
        scores.emplace(std::array{batch, n_heads, q_len, kv_len}, out_layout, call.flush_end).view();
  }
  if (call.lse)
    options.lse = lse.emplace(std::array{batch, n_heads, q_len}, out_layout, call.flush_end).view();

  if (call.forbid_padding) {
    for (std::ptrdiff_t b = 0; b < batch; ++b) {
      for (std::ptrdiff_t j = 0; j < kv_len; ++j) {
        for (std::ptrdiff_t hkv = 0; hkv < data.k.extents[1] && !is_real(data, b, j); ++hkv) {
          const std::size_t page = GuardedPages::page_size();
          GuardedPages::forbid(
              &k.view()(b, hkv, j, 0),
              (static_cast<std::size_t>(head_dim) * sizeof(Stored) + page - 1) / page * page);
          GuardedPages::forbid(&v.view()(b, hkv, j, 0),
                               (static_cast<std::size_t>(v_dim) * sizeof(Stored) + page - 1) / page * page);
        }
      }
    }
  }

  Answer answer;
  answer.report =
      function(View<const T, 4>(q), View<const Stored, 4>(k), View<const Stored, 4>(v), out.view(), options);
  answer.out = out.take();
  if (weights) answer.weights = weights->take();
  if (scores) answer.scores = scores->take();
  if (lse) answer.lse = lse->take();
  return answer;
}

template <class Function>
Answer call_by_dtype(const Data& data, const Call& call, Function function) {
  switch (data.problem.dtype) {
    case Dtype::f32:
      return typed_call<float, float>(data, call, function);
    case Dtype::f64:
      return typed_call<double, double>(data, call, function);
    case Dtype::bf16:
      return typed_call<float, bf16>(data, call, function);
    case Dtype::f16:
      return typed_call<float, f16>(data, call, function);
  }
  throw std::logic_error("unknown dtype");
}

}  // namespace rapt::test
