// Printing: three decimals as printf rounds them, the layout of the stages, and sinks that fail.
#include <rapt/pipeline.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "pipeline/fixed3.hpp"
#include "pipeline/text_writer.hpp"
#include "support/case_count.hpp"

using namespace rapt::pipeline;

namespace {

std::string ours(double x) {
  char text[fixed3_room];
  return {text, write_fixed3(text, x)};
}

std::string expected(double x) {
  if (std::isnan(x)) return "nan";
  if (std::fabs(x) < 0.0005) x = 0.0;
  char text[fixed3_room];
  std::snprintf(text, sizeof text, "%.3f", x);
  return text;
}

void compare(double x) {
  for (const double each : {x, -x}) {
    if (ours(each) != expected(each)) FAIL(each << ": " << ours(each) << " is not " << expected(each));
  }
}

double from_bits(std::uint64_t bits) { return std::bit_cast<double>(bits); }

}  // namespace

TEST_CASE("special values and the edges of the three-decimal form") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(ours(infinity) == "inf");
  CHECK(ours(-infinity) == "-inf");
  CHECK(ours(std::nan("")) == "nan");
  CHECK(ours(-std::nan("")) == "nan");
  CHECK(ours(-0.0) == "0.000");
  CHECK(ours(0.0005) == "0.001");
  CHECK(ours(-0.0005) == "-0.001");
  CHECK(ours(std::nextafter(0.0005, 0)) == "0.000");
  CHECK(ours(std::nextafter(-0.0005, 0)) == "0.000");
  CHECK(ours(0.0625) == "0.062");
  CHECK(ours(0.1875) == "0.188");
  CHECK(ours(999.9995) == expected(999.9995));
  for (const double x : {5e-324, 1e-310, 0x1p-11, 0x1p-10, 0x1p52, 0x1p53, 1e300, 1.7976931348623157e308,
                         999.9995, 9.9995, 99.9995}) {
    compare(x);
    compare(std::nextafter(x, infinity));
    compare(std::nextafter(x, 0));
  }
}

TEST_CASE("three decimals are those of printf on random bits, on ties and next to them") {
  std::mt19937_64 random(3);
  for (int i = 0; i < case_count(100000); ++i) {
    const double any = from_bits(random());
    if (!std::isinf(any)) compare(any);
    // Uniform exponents where the numbers of the program lie.
    compare(std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 80) - 80));
    // Odd multiples of 1/16: every one is a tie of thousandths. Then two-decimal products, and the doubles
    // around each.
    const double tie = static_cast<double>(random() >> (11 + random() % 48)) / 16;
    const double product = (static_cast<double>(random() % 2001) - 1000) / 100 *
                           ((static_cast<double>(random() % 2001) - 1000) / 100);
    const double written = static_cast<double>(random() % 20000001) / 10000;
    for (const double x : {tie, product, written}) {
      compare(x);
      compare(std::nextafter(x, 1e300));
      compare(std::nextafter(x, -1e300));
    }
  }
}

TEST_CASE("every thousandth and every half of one is printed as printf does") {
  for (int i = 0; i < 2100000; i += 7) compare(i / 2000.0);
}

TEST_CASE("runs of equal numbers are printed like any others, across the buffer's end too") {
  for (const std::ptrdiff_t count : {1, 2, 3, 100, 50000}) {
    for (const double value : {0.0, -std::numeric_limits<double>::infinity(), 1.7976931348623157e308}) {
      std::vector<double> row(static_cast<std::size_t>(count), value);
      if (count > 2) row[static_cast<std::size_t>(count) / 2] = 1.5;
      std::string text, wanted;
      const auto collect = [&](std::string_view chunk) { return text += chunk, true; };
      TextWriter out(collect);
      out.row(row.data(), count);
      CHECK(out.flush());
      for (const double x : row) wanted += expected(x) + " ";
      wanted.back() = '\n';
      CHECK((text == wanted));
    }
  }
}

TEST_CASE("the six stages have their lines, and each can be printed alone") {
  const Input input{1, 1, 1, {"b", "a"}, {1}, {1}, {1}, {1}, {1}, {1}};
  const Result result{{"a", "b"}, {1}, {2}, {3}, {-std::numeric_limits<double>::infinity()},
                      {0},        {4}, {5}, {7}};
  const char* const stages[] = {
      "Stage 1: Create Embeddings\n\"a\" -> (1 0)\n\"b\" -> (0 1)\n",
      "Stage 2: Projections\nQ Projection:\n1.000\nK Projection:\n2.000\nV Projection:\n3.000\n",
      "Stage 3: Attention Scores (Prompt)\n-inf\n",
      "Stage 4: Attention Weights (Prompt)\n0.000\n",
      "Stage 5: Attention Output (Prompt)\n4.000\n",
      "Stage 6: Generated Outputs\nGen 0: 5.000\nDot products computed: 7\n"};
  std::string text, all;
  const auto collect = [&](std::string_view chunk) { return text += chunk, true; };
  for (int stage = 1; stage <= Stages::count; ++stage) {
    text.clear();
    CHECK(print(input, result, collect, Stages::none().with(stage)));
    CHECK(text == stages[stage - 1]);
    all += text;
  }
  text.clear();
  CHECK(print(input, result, collect));
  CHECK(text == all);
  text.clear();
  CHECK(print(input, result, collect, Stages::none()));
  CHECK(text.empty());
}

TEST_CASE("a sink that fails is not asked again and the failure is told") {
  Input input;
  input.n = input.d = 300;
  Result result;
  result.q = result.k = result.v = std::vector<double>(300 * 300, 1.25);
  for (int good = 0; good < 3; ++good) {
    int calls = 0;
    const auto sink = [&](std::string_view) { return calls++ < good; };
    CHECK_FALSE(print(input, result, sink, Stages::none().with(2)));
    CHECK(calls == good + 1);
  }
}
