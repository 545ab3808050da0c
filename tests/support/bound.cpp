// The derived bound between fused arithmetic and exact arithmetic (props/README.md, G01).
#include <algorithm>
#include <cmath>

#include "reference/attention_long_double.hpp"
#include "support/run.hpp"

namespace rapt::test {
namespace {

// Dense double inputs as views that live as long as the data.
reference::LongDoubleAnswer exact_answer(const Data& data) {
  const auto view = []<int N>(const Array<N>& array) {
    View<const double, N> v{array.values.data(), array.extents, {}};
    std::ptrdiff_t stride = 1;
    for (std::size_t axis = N; axis-- > 0; stride *= array.extents[axis]) v.strides[axis] = stride;
    return v;
  };
  AttentionOptions<double> options;
  options.scale = data.problem.scale;
  options.causal = data.problem.causal;
  options.window = data.problem.window;
  options.softcap = data.problem.softcap;
  if (options.softcap && data.problem.dtype != Dtype::f64)
    options.softcap = static_cast<float>(*options.softcap);
  if (data.bias) options.bias = view(*data.bias);
  if (data.alibi_slopes) options.alibi_slopes = view(*data.alibi_slopes);
  std::optional<Placed<bool, 2>> key_mask, query_mask;
  std::optional<Placed<bool, 4>> attend;
  std::optional<Placed<std::ptrdiff_t, 1>> key_lengths;
  if (data.key_mask) options.key_mask = key_mask.emplace(*data.key_mask, Layout::dense).view();
  if (data.query_mask) options.query_mask = query_mask.emplace(*data.query_mask, Layout::dense).view();
  if (data.attend) options.attend = attend.emplace(*data.attend, Layout::dense).view();
  if (data.key_lengths) options.key_lengths = key_lengths.emplace(*data.key_lengths, Layout::dense).view();
  return reference::attention_long_double(view(data.q), view(data.k), view(data.v), options);
}

constexpr long double room = 1.01L;  // for terms of second order

// The terms of the derivation for one row, in units of u where not said.
struct Terms {
  long double u, tiny;     // unit roundoff; 2^EMIN
  long double n;           // keys seen
  long double score;       // relative error of exp(score)
  long double polynomial;  // relative error of 2^f
  long double sum;         // relative error of a block's sum followed by the fold

  // Of a weight, or of out against the sum of weight * |v|. Not a unit of u; finite, so that it can be
  // multiplied by 0.
  long double relative() const {
    return std::min(1e9L, std::expm1(room * u * (2 * score + 2 * polynomial + 2 * sum + 1)));
  }

  // Absolute, of lse.
  long double lse_error(long double lse) const {
    return room * u * (score + polynomial + sum + 4 * (std::log2(n + 1) + 1)) + 4 * u * std::abs(lse) +
           4 * tiny * n;
  }
};

Terms terms_of(const Data& data, long double growth, std::ptrdiff_t seen, bool fma) {
  const bool f64 = data.problem.dtype == Dtype::f64;
  const bool plain = data.problem.softcap.value_or(0) == 0 && !data.bias && !data.alibi_slopes;
  const long double separate = fma ? 0 : 1;
  const auto n = static_cast<long double>(seen);
  const long double blocks = std::min(n, static_cast<long double>(data.k.extents[2] / 256 + 1));
  return {.u = static_cast<long double>(unit_roundoff(data.problem.dtype)),
          .tiny = std::ldexp(1.0L, f64 ? -1022 : -126),
          .n = n,
          .score = (static_cast<long double>(data.q.extents[3]) + (plain ? 5 : 15) + 5 * separate) * growth,
          .polynomial = 1.5L + separate,
          .sum = std::min(n, 256.0L) + separate + blocks};
}

class Worst {
 public:
  void judge(long double value, long double exact, long double bound) {
    const long double error = value == exact ? 0 : std::abs(value - exact);
    const double fraction = error == 0 ? 0 : static_cast<double>(error / bound);
    if (!(fraction <= worst_)) worst_ = std::isnan(fraction) ? HUGE_VAL : fraction;
  }
  double value() const { return worst_; }

 private:
  double worst_ = 0;
};

// Bounds of the components of out, row by row.
void bound_out(const Data& data, const reference::LongDoubleAnswer& exact, bool fma,
               std::vector<long double>& bounds) {
  const auto v_dim = static_cast<std::size_t>(data.v.extents[3]);
  for (std::size_t row = 0; row < exact.seen.size(); ++row) {
    const Terms t = terms_of(data, exact.growth[row], exact.seen[row], fma);
    for (std::size_t at = row * v_dim; at < (row + 1) * v_dim; ++at) {
      const long double spread = (2 + room * t.u * (2 * t.sum + 4)) * exact.reach[at];
      const long double flushed =
          4 * t.tiny * static_cast<long double>(exact.seen[row]) * (exact.reach[at] + 1);
      bounds.push_back(std::min(t.relative() * exact.magnitude[at], spread) + flushed);
    }
  }
}

}  // namespace

Bounds out_bounds(const Data& data, bool fma) {
  const reference::LongDoubleAnswer exact = exact_answer(data);
  Bounds bounds{exact.out, {}, {}, exact.lse, exact.reach, exact.seen};
  bound_out(data, exact, fma, bounds.out_error);
  for (std::size_t row = 0; row < exact.seen.size(); ++row) {
    const Terms t = terms_of(data, exact.growth[row], exact.seen[row], fma);
    bounds.lse_error.push_back(t.lse_error(exact.lse[row]));
  }
  return bounds;
}

double worst_fraction_of_bound(const Data& data, const Answer& answer, bool fma) {
  const reference::LongDoubleAnswer exact = exact_answer(data);
  std::vector<long double> bounds;
  bound_out(data, exact, fma, bounds);
  Worst worst;
  for (std::size_t at = 0; at < bounds.size(); ++at) {
    worst.judge(static_cast<long double>(answer.out.values[at]), exact.out[at], bounds[at]);
  }
  const auto kv_len = static_cast<std::size_t>(data.k.extents[2]);
  for (std::size_t row = 0; row < exact.seen.size(); ++row) {
    const Terms t = terms_of(data, exact.growth[row], exact.seen[row], fma);
    for (std::size_t at = row * kv_len; at < (row + 1) * kv_len; ++at) {
      if (answer.weights) {
        const long double bound = std::min(t.relative() * exact.weights[at], 1.01L) + 4 * t.tiny;
        worst.judge(static_cast<long double>(answer.weights->values[at]), exact.weights[at], bound);
      }
      if (answer.scores) {
        const long double bound = room * t.u * t.score + 2 * t.tiny * t.n;
        worst.judge(static_cast<long double>(answer.scores->values[at]), exact.scores[at], bound);
      }
    }
    if (answer.lse) {
      worst.judge(static_cast<long double>(answer.lse->values[row]), exact.lse[row],
                  t.lse_error(exact.lse[row]));
    }
  }
  return worst.value();
}

}  // namespace rapt::test
