// Runs a problem's data through attention(), the definition or the long-double reference.
#pragma once

#include "support/answer.hpp"
#include "support/place.hpp"

namespace rapt::test {

struct Call {
  Layout layout = Layout::dense;
  bool weights = false, scores = false, lse = false;
  bool flush_end = true;        ///< guard page right behind the arrays, else right before them
  bool forbid_padding = false;  ///< with Layout::paged: padded keys lie on pages that cannot be read
};
inline constexpr Call all_outputs{.weights = true, .scores = true, .lse = true};

/// attention() with the ISA that is active.
Answer run(const Data& data, const Call& call = {});

/// The scalar definition.
Answer define(const Data& data, const Call& call = {});

/// The largest |value - long double| / bound over out and the by-products that the answer has
/// (props/README.md derives the bound); infinity where an error is NaN. `fma`: the arithmetic rounds once per
/// multiply-add.
double worst_fraction_of_bound(const Data& data, const Answer& answer, bool fma);

}  // namespace rapt::test
