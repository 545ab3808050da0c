// Stages 1 to 6 on the kernels: checks the input, projects all rows, and hands them to either attention.
#include <rapt/embedding.hpp>
#include <rapt/error.hpp>
#include <rapt/pipeline.hpp>

#include <limits>

#include "float_mode.hpp"
#include "gemm.hpp"
#include "pipeline/attend.hpp"
#include "view_checks.hpp"

namespace rapt::pipeline {
namespace {

void check_size(const char* name, std::size_t size, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  if (static_cast<std::ptrdiff_t>(size) == element_count(rows, columns)) return;
  throw invalid_input(std::string(name) + ": " + std::to_string(size) + " elements do not match " +
                      std::to_string(rows) + " x " + std::to_string(columns));
}

void check(const Input& input) {
  if (input.n < 1 || input.d < 1 || input.g < 0) {
    throw invalid_input("n, d, g: " + std::to_string(input.n) + ", " + std::to_string(input.d) + ", " +
                        std::to_string(input.g) + ", expected at least 1, 1, 0");
  }
  check_size("mask", input.mask.size(), input.n, 1);
  check_size("prompt", input.prompt.size(), input.n, input.d);
  check_size("generated", input.generated.size(), input.g, input.d);
  check_size("wq", input.wq.size(), input.d, input.d);
  check_size("wk", input.wk.size(), input.d, input.d);
  check_size("wv", input.wv.size(), input.d, input.d);
}

/// All n + g rows of the input times one weight: prompt rows first, [n + g, d].
void project(const Input& input, const std::vector<double>& weight, Arithmetic arithmetic,
             std::vector<double>& rows) {
  const Size n = input.n, d = input.d, g = input.g;
  const PackedMatrix<double> packed(contiguous(weight.data(), {d, d}));
  rows.resize(static_cast<std::size_t>((n + g) * d));
  gemm(arithmetic, contiguous(input.prompt.data(), {n, d}), packed, contiguous(rows.data(), {n, d}));
  gemm(arithmetic, contiguous(input.generated.data(), {g, d}), packed,
       contiguous(rows.data() + n * d, {g, d}));
}

}  // namespace

Result run(const Input& input, Arithmetic arithmetic) {
  Result result;
  run(input, arithmetic, result);
  return result;
}

void run(const Input& input, Arithmetic arithmetic, Result& result) {
  const StandardFloatMode mode;
  require_arithmetic(arithmetic);
  check(input);
  const auto cells = [](Size rows, Size columns) {
    return static_cast<std::size_t>(element_count(rows, columns));
  };
  result.vocabulary =
      OneHotTable(std::vector<std::string_view>(input.words.begin(), input.words.end())).words();
  project(input, input.wq, arithmetic, result.q);
  project(input, input.wk, arithmetic, result.k);
  project(input, input.wv, arithmetic, result.v);
  result.scores.assign(cells(input.n, input.n), -std::numeric_limits<double>::infinity());
  result.weights.assign(cells(input.n, input.n), 0.0);
  result.output.assign(cells(input.n, input.d), 0.0);
  result.generated.assign(cells(input.g, input.d), 0.0);
  result.dot_products.assign(static_cast<std::size_t>(input.g), 0);
  const Projected rows{result.q.data(), result.k.data(), result.v.data()};
  const auto attend = arithmetic == Arithmetic::fused ? attend_fused : attend_textbook;
  attend(input, rows, result);
  for (std::vector<double>* all : {&result.q, &result.k, &result.v}) all->resize(cells(input.n, input.d));
}

}  // namespace rapt::pipeline
