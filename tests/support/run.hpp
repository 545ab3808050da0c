// Runs a problem's data through attention(), the definition or the long-double reference.
#pragma once

#include "support/answer.hpp"
#include "support/float_modes.hpp"
#include "support/place.hpp"

namespace rapt::test {

struct Call {
  Layout layout = Layout::dense;
  bool weights = false, scores = false, lse = false;
  bool flush_end = true;        ///< guard page right behind the arrays, else right before them
  bool forbid_padding = false;  ///< with Layout::paged: padded keys lie on pages that cannot be read
  bool rope = false;            ///< run_cached() only: the cache rotates keys and queries
};
inline constexpr Call all_outputs{.weights = true, .scores = true, .lse = true};

/// attention() with the ISA that is active.
Answer run(const Data& data, const Call& call = {});

/// The same call made in another floating-point mode. Throws std::logic_error when that is not the mode after
/// it.
Answer run_in(FloatMode mode, const Data& data, const Call& call = {});

/// merge() of two answers with lse, in the type of the dtype's out.
Answer merge_answers(Dtype dtype, const Answer& first, const Answer& second);

/// The scalar definition.
Answer define(const Data& data, const Call& call = {});

/// The exact answer and how far fused arithmetic may be from it (props/README.md derives the bounds);
/// row-major. `fma`: the arithmetic rounds once per multiply-add.
struct Bounds {
  std::vector<long double> out, out_error;  // [batch, n_heads, q_len, v_dim]
  std::vector<long double> lse_error, lse;  // [batch, n_heads, q_len]
  std::vector<long double> reach;           // like out: the largest |v| seen
  std::vector<std::ptrdiff_t> seen;         // like lse: number of keys seen
};
Bounds out_bounds(const Data& data, bool fma);

/// The largest |value - exact| / bound over out and the by-products that the answer has; infinity where an
/// error is NaN.
double worst_fraction_of_bound(const Data& data, const Answer& answer, bool fma);

}  // namespace rapt::test
