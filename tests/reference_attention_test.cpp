// The definition of attention, before anything is compared with it: worked examples, closed forms, the cases
// of public bug reports, and the derived bound to an independent long-double reference.
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <limits>

#include "support/run.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Data zero_scores(const char* problem) {
  Data data = make_data(parse_problem(problem));
  for (double& value : data.q.values) value = 0;
  return data;
}

}  // namespace

TEST_CASE("definition: a 2 x 3 example worked by hand") {
  // scores 0 and ln 3 (row 0), 0, 0 and ln 2 (row 1); weights 1/4 3/4 and 1/4 1/4 1/2.
  Data data = make_data("b1_hq1_hkv1_q2_kv3_d2_dv1_causal_scale1_f64"_problem);
  data.q.values = {1, 0, 0, 1};
  data.k.values = {0, 0, std::log(3.0), 0, 5, std::log(2.0)};
  data.v.values = {4, 8, 16};
  const Answer answer = define(data, all_outputs);
  CHECK(answer.out.values[0] == Approx(7).epsilon(1e-15));
  CHECK(answer.out.values[1] == Approx(11).epsilon(1e-15));
  CHECK(answer.weights->values[0] == Approx(0.25).epsilon(1e-15));
  CHECK(answer.weights->values[2] == 0);
  CHECK(answer.weights->values[5] == Approx(0.5).epsilon(1e-15));
  CHECK(answer.scores->values == std::vector<double>{0, std::log(3.0), -infinity, 0, 0, std::log(2.0)});
  CHECK(answer.lse->values[0] == Approx(std::log(4.0)).epsilon(1e-15));
  CHECK(answer.lse->values[1] == Approx(std::log(4.0)).epsilon(1e-15));
  CHECK(answer.report.dot_products == 5);
  CHECK(answer.report.visible_pairs == 5);
  CHECK(answer.report.bytes_read == 3 * (2 + 1) * 8);
}

TEST_CASE("definition: equal scores give the mean, one dominant score gives its value") {
  Data data = zero_scores("b1_hq1_hkv1_q1_kv600_d3_dv1_f64");
  double mean = 0;
  for (const double value : data.v.values) mean += value / 600;
  CHECK(define(data).out.values[0] == Approx(mean).epsilon(1e-13));

  for (double& value : data.q.values) value = 1;
  for (std::ptrdiff_t u = 0; u < 3; ++u) data.k(0, 0, 77, u) = 2000;
  CHECK(define(data).out.values[0] == data.v(0, 0, 77, 0));
}

TEST_CASE("definition: a row that sees one key returns its value, one that sees none returns zeros") {
  Data data = make_data("b1_hq1_hkv1_q4_kv3_d2_causal_f32"_problem);
  data.v.values[0] = -0.0;
  const Answer answer = define(data, all_outputs);
  CHECK(answer.out.values[0] == 0);
  CHECK(answer.lse->values[0] == -infinity);
  CHECK(answer.weights->values[0] == 0);
  CHECK(std::signbit(answer.out.values[2]));
  CHECK(answer.out.values[3] == data.v.values[1]);
  CHECK(answer.weights->values[3] == 1);
}

TEST_CASE(
    "definition: report counts offered pairs, pairs left by attend and query_mask, and bytes once per KV "
    "head") {
  Data data = make_data("b1_hq4_hkv2_q5_kv5_d3_dv2_causal_w2_f16"_problem);
  data.query_mask = Array<2>({1, 5}, 1);
  (*data.query_mask)(0, 4) = 0;
  data.attend = Array<4>({1, 1, 5, 5}, 1);
  (*data.attend)(0, 0, 2, 1) = 0;
  const Answer answer = define(data);
  CHECK(answer.report.dot_products == 4 * (1 + 2 + 2 + 2 + 2));
  CHECK(answer.report.visible_pairs == 4 * (1 + 2 + 1 + 2));
  CHECK(answer.report.bytes_read == 2 * 5 * (3 + 2) * 2);
  data.key_mask = Array<2>({1, 5}, 1);
  (*data.key_mask)(0, 0) = 0;  // rows see positions 0 0 1 2 3 at most: 0, 1, 2, 2, 2 keys
  CHECK(define(data).report.dot_products == 4 * (0 + 1 + 2 + 2 + 2));
  CHECK(define(data).report.bytes_read == 2 * 4 * (3 + 2) * 2);
}

TEST_CASE(
    "definition: rows whose query is NaN, or that see a score of +inf, are NaN, and a key at -inf is "
    "hidden") {
  Data data = make_data("b1_hq1_hkv1_q2_kv3_d1_scale1_f64"_problem);
  data.q.values = {1, std::nan("")};
  data.k.values = {0, -infinity, 0};
  data.v.values = {1, std::nan(""), 3};
  Answer answer = define(data, all_outputs);
  CHECK(answer.out.values[0] == 2);
  CHECK(answer.scores->values[1] == -infinity);
  CHECK(std::isnan(answer.out.values[1]));
  data.k.values[1] = infinity;
  answer = define(data, all_outputs);
  CHECK(std::isnan(answer.out.values[0]));
}

TEST_CASE("definition: softcap, then bias, then ALiBi, and a softcap of 0 is none") {
  Data data = make_data("b1_hq1_hkv1_q1_kv2_d1_causal_cap2_scale3_f64"_problem);
  data.q.values = {1};
  data.k.values = {0.5, -1};
  data.bias = Array<4>({1, 1, 1, 2}, 0.25);
  data.alibi_slopes = Array<1>({1}, 0.125);
  const Answer answer = define(data, all_outputs);
  CHECK(answer.scores->values[0] == Approx(2 * std::tanh(0.75) + 0.25 - 0.125).epsilon(1e-15));
  CHECK(answer.scores->values[1] == Approx(2 * std::tanh(-1.5) + 0.25).epsilon(1e-15));

  Data none = make_data("b1_hq2_hkv1_q9_kv300_d5_causal_f32"_problem), zero = none;
  zero.problem.softcap = 0;
  CHECK(difference(define(none, all_outputs), define(zero, all_outputs)) == "");
}

TEST_CASE("definition: within the derived bound of the long-double reference") {
  const char* const problems[] = {
      "b2_hq4_hkv2_q37_kv300_d64_causal_f32",
      "b2_hq4_hkv2_q37_kv300_d64_causal_f64",
      "b1_hq2_hkv1_q5_kv1500_d7_dv9_f32",
      "b1_hq2_hkv1_q5_kv1500_d7_dv9_f64",
      "b1_hq1_hkv1_q5_kv700_d33_mag8_f32",
      "b1_hq1_hkv1_q5_kv700_d33_mag8_f64",
      "b1_hq1_hkv1_q3_kv700_d64_mag40_f32",
      "b1_hq1_hkv1_q300_kv300_d1_causal_w100_f32",
      "b3_hq2_hkv2_q20_kv300_d8_topleft_w9_km-random_kl_f32",
      "b3_hq2_hkv2_q20_kv300_d8_causal_km-runs_qm-random_at-runs_f64",
      "b1_hq3_hkv1_q20_kv520_d16_causal_cap1.5_f32",
      "b1_hq3_hkv1_q20_kv520_d16_causal_cap30_mag9_f64",
      "b2_hq3_hkv1_q20_kv520_d16_causal_bias_alibi_f32",
      "b2_hq3_hkv1_q20_kv520_d16_causal_bias_alibi_cap4_f64",
      "b1_hq3_hkv1_q20_kv520_d16_causal_bias_alibi_at-sparse_bf16",
      "b1_hq3_hkv1_q20_kv520_d16_causal_km-left_f16",
      "b1_hq1_hkv1_q4_kv50_d4_scale-2.5_f32",
      "b1_hq1_hkv1_q4_kv50_d4_scale0_f64",
      "b1_hq1_hkv1_q2_kv3_d700_mag3_f32",
  };
  double worst = 0;
  for (const char* text : problems) {
    const Data data = make_data(parse_problem(text));
    const double fraction = worst_fraction_of_bound(data, define(data, all_outputs), true);
    CAPTURE(text, fraction);
    CHECK(fraction <= 1);
    if (!(fraction <= worst)) worst = fraction;
  }
  std::cout << "definition: at most " << worst << " of the derived bound\n";
  CHECK(worst > 1e-4);
}

TEST_CASE("definition: equal-signed values and scores of 1e2 stay within the bound") {
  for (const char* text : {"b1_hq1_hkv1_q8_kv2000_d1_scale1_f32", "b1_hq1_hkv1_q8_kv2000_d1_scale100_f32"}) {
    Data data = make_data(parse_problem(text));
    for (double& value : data.v.values) value = std::abs(value);
    CHECK(worst_fraction_of_bound(data, define(data, all_outputs), true) <= 1);
  }
}
