// Stages 3 to 6 from the projected rows, in either arithmetic.
#pragma once

#include <rapt/pipeline.hpp>

namespace rapt::pipeline {

/// Queries, keys and values of all rows, [n + g, d] each: the prompt's, then the generated ones'.
struct Projected {
  const double* q;
  const double* k;
  const double* v;
};

/// Each fills the result's scores, weights, output, generated and dot_products, which have their sizes and
/// hold -inf, 0, 0, 0 and 0.
void attend_textbook(const Input& input, const Projected& rows, Result& result);
void attend_fused(const Input& input, const Projected& rows, Result& result);

}  // namespace rapt::pipeline
