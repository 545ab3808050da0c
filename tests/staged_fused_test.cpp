// The staged program in fused arithmetic: the definition's bits on projected rows, and generation as the end
// of a longer prompt.
#include <rapt/attention.hpp>
#include <rapt/pipeline.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "reference/attention_definition.hpp"
#include "support/isas.hpp"
#include "support/staged_problem.hpp"
#include "support/threads.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

using Matrix = std::vector<double>;

/// Prompt and generated rows times a weight, each element one chain of fused multiply-adds.
Matrix project(const pipeline::Input& input, const Matrix& weight) {
  Matrix rows = input.prompt;
  rows.insert(rows.end(), input.generated.begin(), input.generated.end());
  const auto d = static_cast<std::size_t>(input.d);
  Matrix projected(rows.size());
  for (std::size_t i = 0; i < rows.size() / d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      double sum = 0;
      for (std::size_t u = 0; u < d; ++u) sum = std::fma(rows[i * d + u], weight[u * d + j], sum);
      projected[i * d + j] = sum;
    }
  }
  return projected;
}

/// The whole sequence as one causal call of the definition, generated rows as if they were real prompt rows.
pipeline::Result by_definition(const pipeline::Input& input) {
  const std::ptrdiff_t n = input.n, d = input.d, g = input.g, length = n + g;
  const auto cells = [](std::ptrdiff_t rows, std::ptrdiff_t columns) {
    return static_cast<std::size_t>(rows * columns);
  };
  const Matrix q = project(input, input.wq), k = project(input, input.wk), v = project(input, input.wv);
  const auto real = std::make_unique<bool[]>(static_cast<std::size_t>(length));
  for (std::ptrdiff_t i = 0; i < length; ++i) {
    real[static_cast<std::size_t>(i)] = i >= n || input.mask[static_cast<std::size_t>(i)] != 0;
  }
  Matrix out(cells(length, d)), scores(cells(length, length)), weights = scores;
  AttentionOptions<double> options;
  options.causal = Causal::top_left;
  options.key_mask = options.query_mask = contiguous<const bool>(real.get(), {1, length});
  options.scores = contiguous(scores.data(), {1, 1, length, length});
  options.weights = contiguous(weights.data(), {1, 1, length, length});
  reference::attention_definition<double, double>(
      contiguous(q.data(), {1, 1, length, d}), contiguous(k.data(), {1, 1, length, d}),
      contiguous(v.data(), {1, 1, length, d}), contiguous(out.data(), {1, 1, length, d}), options);

  pipeline::Result result;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    result.scores.insert(result.scores.end(), scores.begin() + i * length, scores.begin() + i * length + n);
    result.weights.insert(result.weights.end(), weights.begin() + i * length,
                          weights.begin() + i * length + n);
  }
  result.q.assign(q.begin(), q.begin() + n * d);
  result.k.assign(k.begin(), k.begin() + n * d);
  result.v.assign(v.begin(), v.begin() + n * d);
  result.output.assign(out.begin(), out.begin() + n * d);
  result.generated.assign(out.begin() + n * d, out.end());
  return result;
}

}  // namespace

TEST_CASE("fused arithmetic is the definition's on every ISA with FMA, with one thread and two",
          "[threads]") {
  for (int i = 0; i < 40; ++i) {
    const StagedProblem problem = random_problem(static_cast<std::uint64_t>(i));
    INFO(problem);
    const pipeline::Input input = make_input(problem);
    const pipeline::Result expected = by_definition(input);
    for_each_isa([&](const Isa& isa) {
      if (!isa.has_fma) return;
      INFO(isa.table->name);
      for (const int threads : {1, 2}) {
        with_threads(threads, [&] {
          const pipeline::Result result = pipeline::run(input, Arithmetic::fused);
          CHECK(result.q == expected.q);
          CHECK(result.k == expected.k);
          CHECK(result.v == expected.v);
          CHECK(result.scores == expected.scores);
          CHECK(result.weights == expected.weights);
          CHECK(result.output == expected.output);
          CHECK(result.generated == expected.generated);
        });
      }
    });
  }
}

TEST_CASE("both arithmetics report the same dot products and the same vocabulary") {
  for (int i = 0; i < 20; ++i) {
    const pipeline::Input input = make_input(random_problem(static_cast<std::uint64_t>(i)));
    const pipeline::Result fused = pipeline::run(input, Arithmetic::fused), textbook = pipeline::run(input);
    CHECK(fused.dot_products == textbook.dot_products);
    CHECK(fused.vocabulary == textbook.vocabulary);
  }
}
