// What a KV cache must hold and give, from everything that was ever appended.
#pragma once

#include <algorithm>

#include "reference/attention_definition.hpp"
#include "support/answer.hpp"
#include "support/kv_arguments.hpp"

namespace rapt::test {

template <class T>
void rotate(double* row, std::ptrdiff_t dim, std::ptrdiff_t position, const RopeOptions& options) {
  std::vector<T> x(row, row + dim);
  const std::int64_t at = position;
  rope(contiguous<const T>(x.data(), {1, 1, 1, dim}), contiguous<const std::int64_t>(&at, {1}),
       contiguous(x.data(), {1, 1, 1, dim}), options);
  std::copy(x.begin(), x.end(), row);
}

/// The real tokens of a chunk behind what is there.
template <class S>
void remember(const KvSetting& setting, const KvArguments<S>& arguments, std::ptrdiff_t b,
              KvHistory& history) {
  const Dtype dtype = dtype_of<S>;
  for (std::ptrdiff_t t = 0; t < arguments.k.extents[2]; ++t) {
    if (!arguments.real(b, t)) continue;
    for (std::ptrdiff_t h = 0; h < setting.n_kv_heads; ++h) {
      std::vector<double> key(&arguments.k.values[arguments.k.offset(b, h, t, 0)],
                              &arguments.k.values[arguments.k.offset(b, h, t, 0)] + setting.head_dim);
      if (arguments.rope) rotate<ElementOf<S>>(key.data(), setting.head_dim, history.length, *arguments.rope);
      for (const double x : key) history.k.push_back(rounded_to(dtype, x));
      for (std::ptrdiff_t j = 0; j < setting.v_dim; ++j)
        history.v.push_back(rounded_to(dtype, arguments.v(b, h, t, j)));
    }
    ++history.length;
  }
  history.first = std::max(history.first, history.length - setting.capacity);
}

/// Row t of sequence b over the first `end` tokens of a history, by definition.
template <class S>
void define_row(const KvSetting& setting, bool exact, const KvArguments<S>& arguments, std::ptrdiff_t b,
                std::ptrdiff_t t, const std::vector<S>& keys, const std::vector<S>& values,
                std::ptrdiff_t end, Array<4>& out) {
  using T = ElementOf<S>;
  const std::ptrdiff_t n_heads = setting.n_kv_heads * setting.group;
  std::vector<T> q, row(static_cast<std::size_t>(n_heads * setting.v_dim));
  for (std::ptrdiff_t h = 0; h < n_heads; ++h) {
    std::vector<double> x(&arguments.q.values[arguments.q.offset(b, h, t, 0)],
                          &arguments.q.values[arguments.q.offset(b, h, t, 0)] + setting.head_dim);
    if (arguments.rope && end > 0) rotate<T>(x.data(), setting.head_dim, end - 1, *arguments.rope);
    for (const double each : x) q.push_back(static_cast<T>(each));
  }
  const auto history = [&](const std::vector<S>& of, std::ptrdiff_t dim) {
    return View<const S, 4>{
        of.data(), {1, setting.n_kv_heads, end, dim}, {0, dim, setting.n_kv_heads * dim, 1}};
  };
  AttentionOptions<T> options;
  options.causal = Causal::bottom_right;
  options.window = setting.window;
  options.scale = arguments.scale;
  if (arguments.softcap != 0) options.softcap = static_cast<T>(arguments.softcap);
  const auto q_view = contiguous<const T>(q.data(), {1, n_heads, 1, setting.head_dim});
  const auto out_view = contiguous(row.data(), {1, n_heads, 1, setting.v_dim});
  if (exact)
    reference::attention_definition<T, S>(q_view, history(keys, setting.head_dim),
                                          history(values, setting.v_dim), out_view, options);
  else
    attention(q_view, history(keys, setting.head_dim), history(values, setting.v_dim), out_view, options);
  for (std::ptrdiff_t h = 0; h < n_heads; ++h)
    for (std::ptrdiff_t j = 0; j < setting.v_dim; ++j)
      out(b, h, t, j) = static_cast<double>(row[static_cast<std::size_t>(h * setting.v_dim + j)]);
}

template <class S>
std::vector<S> encoded(const std::vector<double>& values) {
  std::vector<S> typed;
  for (const double value : values) typed.push_back(encode<S>(value));
  return typed;
}

/// What a call says and gives: rows by their ends (0: sees nothing), and the report of the closed form.
template <class S>
Answer expect(const KvSetting& setting, bool exact, const KvArguments<S>& arguments,
              const std::vector<KvHistory>& histories, const std::vector<std::vector<std::ptrdiff_t>>& ends) {
  const std::ptrdiff_t n_heads = setting.n_kv_heads * setting.group, len = arguments.q.extents[2];
  Answer answer;
  answer.out = Array<4>({setting.batch, n_heads, len, setting.v_dim});
  for (std::ptrdiff_t b = 0; b < setting.batch; ++b) {
    const KvHistory& history = histories[static_cast<std::size_t>(b)];
    const std::vector<S> keys = encoded<S>(history.k), values = encoded<S>(history.v);
    std::vector<bool> read(static_cast<std::size_t>(history.length));
    for (std::ptrdiff_t t = 0; t < len; ++t) {
      const std::ptrdiff_t end = ends[static_cast<std::size_t>(b)][static_cast<std::size_t>(t)];
      const std::ptrdiff_t seen = std::min(end, setting.window.value_or(end));
      define_row(setting, exact, arguments, b, t, keys, values, end, answer.out);
      answer.report.dot_products += n_heads * seen;
      for (std::ptrdiff_t position = end - seen; position < end; ++position)
        read[static_cast<std::size_t>(position)] = true;
    }
    answer.report.bytes_read += std::count(read.begin(), read.end(), true) * setting.n_kv_heads *
                                (setting.head_dim + setting.v_dim) * static_cast<std::ptrdiff_t>(sizeof(S));
  }
  answer.report.visible_pairs = answer.report.dot_products;
  return answer;
}

}  // namespace rapt::test
