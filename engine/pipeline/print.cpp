// The printed form: which lines, in which order. How a number looks is fixed3.hpp's, how lines reach the sink
// is text_writer.hpp's.
#include <rapt/pipeline.hpp>

#include <charconv>

#include "float_mode.hpp"
#include "pipeline/text_writer.hpp"

namespace rapt::pipeline {
namespace {

void print_one_hot(TextWriter& out, const std::vector<std::string>& vocabulary) {
  const std::ptrdiff_t count = std::ssize(vocabulary);
  for (std::ptrdiff_t i = 0; i < count && out.ok(); ++i) {
    out.text("\"");
    out.text(vocabulary[static_cast<std::size_t>(i)]);
    out.text("\" -> (");
    out.repeat("0 ", i);
    out.text("1 ");
    out.repeat("0 ", count - 1 - i);
    out.replace_last(')');
    out.text("\n");
  }
}

void print_matrix(TextWriter& out, const std::vector<double>& values, std::ptrdiff_t rows,
                  std::ptrdiff_t columns) {
  for (std::ptrdiff_t i = 0; i < rows && out.ok(); ++i) out.row(values.data() + i * columns, columns);
}

void print_count(TextWriter& out, std::string_view before, std::ptrdiff_t value, std::string_view after) {
  char digits[24];
  out.text(before);
  out.text({digits, std::to_chars(digits, digits + sizeof digits, value).ptr});
  out.text(after);
}

void print_generated(TextWriter& out, const Result& result, std::ptrdiff_t g, std::ptrdiff_t d) {
  for (std::ptrdiff_t t = 0; t < g && out.ok(); ++t) {
    print_count(out, "Gen ", t, ": ");
    out.row(result.generated.data() + t * d, d);
    print_count(out, "Dot products computed: ", result.dot_products[static_cast<std::size_t>(t)], "\n");
  }
}

}  // namespace

bool print(const Input& input, const Result& result, Sink sink, Stages stages) {
  const StandardFloatMode mode;
  TextWriter out(sink);
  if (stages.has(1)) {
    out.text("Stage 1: Create Embeddings\n");
    print_one_hot(out, result.vocabulary);
  }
  if (stages.has(2)) {
    out.text("Stage 2: Projections\nQ Projection:\n");
    print_matrix(out, result.q, input.n, input.d);
    out.text("K Projection:\n");
    print_matrix(out, result.k, input.n, input.d);
    out.text("V Projection:\n");
    print_matrix(out, result.v, input.n, input.d);
  }
  if (stages.has(3)) {
    out.text("Stage 3: Attention Scores (Prompt)\n");
    print_matrix(out, result.scores, input.n, input.n);
  }
  if (stages.has(4)) {
    out.text("Stage 4: Attention Weights (Prompt)\n");
    print_matrix(out, result.weights, input.n, input.n);
  }
  if (stages.has(5)) {
    out.text("Stage 5: Attention Output (Prompt)\n");
    print_matrix(out, result.output, input.n, input.d);
  }
  if (stages.has(6)) {
    out.text("Stage 6: Generated Outputs\n");
    print_generated(out, result, input.g, input.d);
  }
  return out.flush();
}

}  // namespace rapt::pipeline
