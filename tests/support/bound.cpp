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

// The terms of the derivation, in units of u where not said.
struct Terms {
  long double u, tiny;         // unit roundoff; 2^EMIN
  long double score, sum;      // relative error of exp(score); of a block sum followed by the fold
  long double polynomial = 0;  // relative error of 2^f
};

Terms terms_of(const Data& data, long double growth, std::ptrdiff_t seen, bool fma) {
  const bool f64 = data.problem.dtype == Dtype::f64;
  const bool plain = data.problem.softcap.value_or(0) == 0 && !data.bias && !data.alibi_slopes;
  const long double separate = fma ? 0 : 1;
  const auto n = static_cast<long double>(seen);
  Terms terms{};
  terms.u = static_cast<long double>(unit_roundoff(data.problem.dtype));
  terms.tiny = std::ldexp(1.0L, f64 ? -1022 : -126);
  terms.polynomial = 1.5L + separate;
  terms.score = (static_cast<long double>(data.q.extents[3]) + (plain ? 5 : 15) + 5 * separate) * growth;
  terms.sum =
      std::min(n, 256.0L) + separate + std::min(n, static_cast<long double>(data.k.extents[2] / 256 + 1));
  return terms;
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

}  // namespace

double worst_fraction_of_bound(const Data& data, const Answer& answer, bool fma) {
  const reference::LongDoubleAnswer exact = exact_answer(data);
  const auto v_dim = static_cast<std::size_t>(data.v.extents[3]),
             kv_len = static_cast<std::size_t>(data.k.extents[2]);
  Worst worst;
  for (std::size_t row = 0; row < exact.seen.size(); ++row) {
    const Terms t = terms_of(data, exact.growth[row], exact.seen[row], fma);
    const auto n = static_cast<long double>(exact.seen[row]);
    const long double room = 1.01L;  // second-order terms: 16 u n stays far below it
    const long double relative =
        std::min(1e9L, std::expm1(room * t.u * (2 * t.score + 2 * t.polynomial + 2 * t.sum + 1)));
    for (std::size_t at = row * v_dim; at < (row + 1) * v_dim; ++at) {
      const long double flushed = 4 * t.tiny * n * (exact.reach[at] + 1);
      const long double spread = (2 + room * t.u * (2 * t.sum + 4)) * exact.reach[at];
      worst.judge(static_cast<long double>(answer.out.values[at]), exact.out[at],
                  std::min(relative * exact.magnitude[at], spread) + flushed);
    }
    for (std::size_t at = row * kv_len; at < (row + 1) * kv_len; ++at) {
      if (answer.weights) {
        worst.judge(static_cast<long double>(answer.weights->values[at]), exact.weights[at],
                    std::min(relative * exact.weights[at], 1.01L) + 4 * t.tiny);
      }
      if (answer.scores) {
        worst.judge(static_cast<long double>(answer.scores->values[at]), exact.scores[at],
                    room * t.u * t.score + 2 * t.tiny * n);
      }
    }
    if (answer.lse) {
      const long double lse = exact.lse[row];
      const long double sums = room * t.u * (t.score + t.polynomial + t.sum + 4 * (std::log2(n + 1) + 1));
      worst.judge(static_cast<long double>(answer.lse->values[row]), lse,
                  sums + 4 * t.u * std::abs(lse) + 4 * t.tiny * n);
    }
  }
  return worst.value();
}

}  // namespace rapt::test
