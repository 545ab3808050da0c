// Stages 3 to 6 in fused arithmetic: two calls of attention(), one for the prompt and one for all generated
// rows. A generated row sees the real prompt rows, the generated rows before it and itself: the bottom-right
// corner.
#include <rapt/attention.hpp>

#include <algorithm>
#include <memory>

#include "pipeline/attend.hpp"

namespace rapt::pipeline {
namespace {

template <class T>
View<T, 4> one_head(T* rows, std::ptrdiff_t count, std::ptrdiff_t width) {
  return contiguous(rows, {1, 1, count, width});
}

}  // namespace

void attend_fused(const Input& input, const Projected& rows, Result& result) {
  const std::ptrdiff_t n = input.n, d = input.d, g = input.g;
  const auto real = std::make_unique<bool[]>(static_cast<std::size_t>(n + g));
  std::transform(input.mask.begin(), input.mask.end(), real.get(), [](unsigned char m) { return m != 0; });
  std::fill_n(real.get() + n, g, true);
  const std::ptrdiff_t real_prompt = std::count(real.get(), real.get() + n, true);

  AttentionOptions<double> prompt;
  prompt.causal = Causal::top_left;
  prompt.key_mask = prompt.query_mask = contiguous<const bool>(real.get(), {1, n});
  prompt.scores = one_head(result.scores.data(), n, n);
  prompt.weights = one_head(result.weights.data(), n, n);
  attention(one_head(rows.q, n, d), one_head(rows.k, n, d), one_head(rows.v, n, d),
            one_head(result.output.data(), n, d), prompt);

  AttentionOptions<double> generation;
  generation.causal = Causal::bottom_right;
  generation.key_mask = contiguous<const bool>(real.get(), {1, n + g});
  attention(one_head(rows.q + n * d, g, d), one_head(rows.k, n + g, d), one_head(rows.v, n + g, d),
            one_head(result.generated.data(), g, d), generation);
  for (std::ptrdiff_t t = 0; t < g; ++t) {
    const std::ptrdiff_t keys = real_prompt + t + 1;
    result.dot_products[static_cast<std::size_t>(t)] = 3 * d + keys + d;
  }
}

}  // namespace rapt::pipeline
