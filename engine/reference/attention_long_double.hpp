// Attention in long double, written apart from the definition: whole rows of scores, softmax in two passes,
// and a predicate that asks of one (row, key) pair whether it is visible. It shares no code with the
// definition or the engine; where both agree within the derived bound, the formula is right. Inputs of float,
// bf16 and f16 are given as the doubles that hold them exactly.
#pragma once

#include <rapt/attention.hpp>

#include <vector>

namespace rapt::reference {

/// Row-major arrays, and what an error bound needs of each row.
struct LongDoubleAnswer {
  std::vector<long double> out;        ///< [batch, n_heads, q_len, v_dim]
  std::vector<long double> magnitude;  ///< the same shape: sum of weight * |v|
  std::vector<long double> reach;      ///< the same shape: the largest |v| seen
  std::vector<long double> weights;    ///< [batch, n_heads, q_len, kv_len]
  std::vector<long double> scores;     ///< the same shape, -inf where not seen
  std::vector<long double> lse;        ///< [batch, n_heads, q_len]
  std::vector<long double>
      growth;  ///< the same: the largest sum|q k| |scale| + |bias| + |slope * distance| of a seen key
  std::vector<std::ptrdiff_t> seen;  ///< the same: number of keys seen
};

/// Outputs of options are not written.
LongDoubleAnswer attention_long_double(const View<const double, 4>& q, const View<const double, 4>& k,
                                       const View<const double, 4>& v,
                                       const AttentionOptions<double>& options);

}  // namespace rapt::reference
