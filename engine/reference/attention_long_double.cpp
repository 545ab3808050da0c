// Two passes over a row of scores, in long double.
#include "reference/attention_long_double.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rapt::reference {
namespace {

constexpr long double infinity = std::numeric_limits<long double>::infinity();

struct Problem {
  const View<const double, 4>&q, &k, &v;
  const AttentionOptions<double>& options;

  std::ptrdiff_t length(std::ptrdiff_t b) const {
    return options.key_lengths ? (*options.key_lengths)(b) : k.extents[2];
  }

  bool real(std::ptrdiff_t b, std::ptrdiff_t j) const {
    return j < length(b) && (!options.key_mask || (*options.key_mask)(b, j));
  }

  std::ptrdiff_t limit(std::ptrdiff_t b, std::ptrdiff_t i) const {
    if (options.causal == Causal::none) return k.extents[2] - 1;
    return options.causal == Causal::top_left ? i : i + length(b) - q.extents[2];
  }

  /// Real keys at indices from first to last: how far apart two keys are.
  std::ptrdiff_t count_real(std::ptrdiff_t b, std::ptrdiff_t first, std::ptrdiff_t last) const {
    std::ptrdiff_t count = 0;
    for (std::ptrdiff_t j = first; j <= std::min(last, k.extents[2] - 1); ++j) count += real(b, j) ? 1 : 0;
    return count;
  }

  // An axis of extent 1 is repeated.
  template <class E>
  static E at(const View<const E, 4>& view, std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i,
              std::ptrdiff_t j) {
    const auto& [eb, eh, ei, ej] = view.extents;
    return view(eb == 1 ? 0 : b, eh == 1 ? 0 : h, ei == 1 ? 0 : i, ej == 1 ? 0 : j);
  }

  bool visible(std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i, std::ptrdiff_t j) const {
    if (options.query_mask && !(*options.query_mask)(b, i)) return false;
    if (!real(b, j) || j > limit(b, i)) return false;
    if (options.window && count_real(b, j, limit(b, i)) > *options.window) return false;
    return !options.attend || at(*options.attend, b, h, i, j);
  }

  /// The score of a visible key; adds to `size` what its rounding errors grow with.
  long double score(std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i, std::ptrdiff_t j,
                    long double& size) const {
    const std::ptrdiff_t hkv = h * k.extents[1] / q.extents[1], head_dim = q.extents[3];
    const long double scale = options.scale ? static_cast<long double>(*options.scale)
                                            : 1 / std::sqrt(static_cast<long double>(head_dim));
    long double s = 0;
    for (std::ptrdiff_t u = 0; u < head_dim; ++u) {
      const long double term = static_cast<long double>(q(b, h, i, u)) * k(b, hkv, j, u) * scale;
      s += term;
      size += std::abs(term);
    }
    if (options.softcap.value_or(0) != 0) s = *options.softcap * std::tanh(s / *options.softcap);
    if (options.bias) {
      const long double bias = at(*options.bias, b, h, i, j);
      s += bias;
      size += std::abs(bias);
    }
    if (options.alibi_slopes) {
      const long double slope = (*options.alibi_slopes)(h);
      const std::ptrdiff_t behind = count_real(b, j, limit(b, i)) - 1;
      s -= slope * static_cast<long double>(behind);
      size += std::abs(slope) * static_cast<long double>(behind);
    }
    return s;
  }
};

}  // namespace

LongDoubleAnswer attention_long_double(const View<const double, 4>& q, const View<const double, 4>& k,
                                       const View<const double, 4>& v,
                                       const AttentionOptions<double>& options) {
  const Problem problem{q, k, v, options};
  const auto [batch, n_heads, q_len, head_dim] = q.extents;
  const std::ptrdiff_t kv_len = k.extents[2], v_dim = v.extents[3];
  LongDoubleAnswer answer;
  for (std::ptrdiff_t row = 0; row < batch * n_heads * q_len; ++row) {
    const std::ptrdiff_t b = row / (n_heads * q_len), h = row / q_len % n_heads, i = row % q_len;
    std::vector<long double> scores(static_cast<std::size_t>(kv_len), -infinity), weights = scores;
    long double largest = -infinity, sum = 0, growth = 0;
    std::ptrdiff_t seen = 0;
    for (std::ptrdiff_t j = 0; j < kv_len; ++j) {
      if (!problem.visible(b, h, i, j)) continue;
      long double size = 0;
      const long double score = problem.score(b, h, i, j, size);
      if (score == -infinity) continue;
      scores[static_cast<std::size_t>(j)] = score;
      ++seen;
      largest = std::max(largest, score);
      if (!std::isinf(size)) growth = std::max(growth, size);
    }
    for (std::size_t j = 0; j < scores.size(); ++j) {
      weights[j] = scores[j] == -infinity ? 0 : std::exp(scores[j] - largest);
      sum += weights[j];
    }
    for (long double& weight : weights) weight = seen == 0 ? 0 : weight / sum;
    for (std::ptrdiff_t col = 0; col < v_dim; ++col) {
      long double out = 0, magnitude = 0, reach = 0;
      for (std::ptrdiff_t j = 0; j < kv_len; ++j) {
        const auto at = static_cast<std::size_t>(j);
        if (scores[at] == -infinity) continue;
        const long double value = v(b, h * k.extents[1] / n_heads, j, col);
        out += weights[at] * value;
        magnitude += weights[at] * std::abs(value);
        reach = std::max(reach, std::abs(value));
      }
      answer.out.push_back(out);
      answer.magnitude.push_back(magnitude);
      answer.reach.push_back(reach);
    }
    answer.lse.push_back(seen == 0 ? -infinity : largest + std::log(sum));
    answer.growth.push_back(growth);
    answer.seen.push_back(seen);
    answer.weights.insert(answer.weights.end(), weights.begin(), weights.end());
    answer.scores.insert(answer.scores.end(), scores.begin(), scores.end());
  }
  return answer;
}

}  // namespace rapt::reference
