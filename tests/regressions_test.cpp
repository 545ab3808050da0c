// Faults that real attention engines had, as small cases (numbered as in the project's list of public bug
// reports), on every ISA and in both types.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/fill.hpp"
#include "support/isas.hpp"
#include "support/run.hpp"
#include "support/threads.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Calls function(answer, epsilon) for both types and every ISA; epsilon is what rounding may do to these
// cases' numbers near 1.
template <class Spoil, class Function>
void for_each_answer(const std::string& problem, Spoil spoil, Function function) {
  for (const char* dtype : {"_f32", "_f64"}) {
    Data data = make_data(parse_problem(problem + dtype));
    spoil(data);
    for_each_isa([&](const Isa& isa) {
      CAPTURE(problem, dtype, isa.table->name);
      function(run(data, all_outputs), 16 * unit_roundoff(data.problem.dtype));
    });
  }
}

void check_close(const std::vector<double>& actual, const std::vector<double>& expected, double epsilon) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i, actual[i], expected[i]);
    CHECK((actual[i] == expected[i] ||
           std::abs(actual[i] - expected[i]) <= epsilon * std::max(1.0, std::abs(expected[i]))));
  }
}

auto values(std::vector<double> q, std::vector<double> k, std::vector<double> v) {
  return [=](Data& data) {
    data.q.values = q;
    data.k.values = k;
    data.v.values = v;
  };
}

}  // namespace

TEST_CASE("A1: a first key block all masked, later keys visible") {
  for (const std::ptrdiff_t t : {63, 64, 65, 255, 256, 257, 511, 512, 513, 600}) {
    for (const bool window : {false, true}) {
      const std::string size = std::to_string(t);
      const std::string problem =
          "b1_hq1_hkv1_q" + size + "_kv" + size + "_d1_scale1_causal" + (window ? "_w10" : "");
      for_each_answer(
          problem,
          [&](Data& data) {
            std::fill(data.q.values.begin(), data.q.values.end(), 0);
            std::fill(data.k.values.begin(), data.k.values.end(), 1);
            std::fill(data.v.values.begin(), data.v.values.end(), 1);
            if (window) return;
            data.attend = Array<4>({1, 1, t, t});
            for (std::ptrdiff_t i = 0; i < t; ++i) {
              for (std::ptrdiff_t j = 0; j <= i; ++j) (*data.attend)(0, 0, i, j) = i - j < 10;
            }
          },
          [&](const Answer& answer, double epsilon) {
            for (std::ptrdiff_t i = 0; i < t; ++i) {
              if (answer.out(0, 0, i, 0) != 1) FAIL("row " << i << " is " << answer.out(0, 0, i, 0));
              const double weight = (*answer.weights)(0, 0, i, i),
                           expected = 1 / static_cast<double>(std::min<std::ptrdiff_t>(i + 1, 10));
              if (!(std::abs(weight - expected) <= epsilon)) FAIL("weight of row " << i << " is " << weight);
            }
          });
    }
  }
}

TEST_CASE("A2: NaN and infinities behind a mask do not matter") {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity}) {
    for (const char* problem : {"b1_hq1_hkv1_q2_kv2_d1_scale1", "b1_hq1_hkv1_q64_kv2_d1_scale1"}) {
      for_each_answer(
          problem,
          [&](Data& data) {
            std::fill(data.q.values.begin(), data.q.values.end(), 1);
            data.k.values = {0, bad};
            data.v.values = {7, bad};
            data.attend = Array<4>({1, 1, 1, 2});
            data.attend->values = {1, 0};
          },
          [](const Answer& answer, double) {
            for (const double out : answer.out.values) CHECK(out == 7);
          });
    }
  }
}

TEST_CASE("A3: which corner is the causal diagonal") {
  const auto zeros = values({0, 0}, {0, 0, 0}, {1, 2, 3});
  for_each_answer("b1_hq1_hkv1_q2_kv3_d1_scale1_causal", zeros, [](const Answer& answer, double epsilon) {
    check_close(answer.out.values, {1.5, 2}, epsilon);
  });
  for_each_answer("b1_hq1_hkv1_q2_kv3_d1_scale1_topleft", zeros, [](const Answer& answer, double epsilon) {
    check_close(answer.out.values, {1, 1.5}, epsilon);
  });
  for_each_answer("b1_hq1_hkv1_q1_kv3_d1_scale1_causal", values({0}, {0, 0, 0}, {1, 2, 3}),
                  [](const Answer& answer, double epsilon) { check_close(answer.out.values, {2}, epsilon); });
  for_each_answer("b1_hq1_hkv1_q3_kv2_d1_scale1_causal", values({0, 0, 0}, {0, 0}, {2, 4}),
                  [](const Answer& answer, double epsilon) {
                    check_close(answer.out.values, {0, 2, 3}, epsilon);
                    check_close(answer.lse->values, {-infinity, 0, std::log(2.0)}, epsilon);
                  });
}

TEST_CASE("A4: a window counts the row's own key") {
  const auto powers = values({0, 0, 0, 0}, {0, 0, 0, 0}, {1, 2, 4, 8});
  for_each_answer("b1_hq1_hkv1_q4_kv4_d1_scale1_causal_w2", powers, [](const Answer& answer, double epsilon) {
    check_close(answer.out.values, {1, 1.5, 3, 6}, epsilon);
  });
  for_each_answer("b1_hq1_hkv1_q4_kv4_d1_scale1_causal_w1", powers, [](const Answer& answer, double) {
    CHECK(answer.out.values == std::vector<double>{1, 2, 4, 8});
  });
  for_each_isa([](const Isa&) {
    const Data wide = make_data("b2_hq4_hkv2_q33_kv33_d9_causal_w33_f32"_problem);
    Data plain = wide;
    plain.problem.window.reset();
    CHECK(difference(run(plain, all_outputs), run(wide, all_outputs)) == "");
  });
}

TEST_CASE("A5: softcap comes before the mask") {
  for_each_answer(
      "b1_hq1_hkv1_q1_kv2_d1_scale1_cap1",
      [](Data& data) {
        values({1}, {1, 1}, {1, 1000})(data);
        data.attend = Array<4>({1, 1, 1, 2});
        data.attend->values = {1, 0};
      },
      [](const Answer& answer, double epsilon) {
        CHECK(answer.out.values[0] == 1);
        check_close(answer.lse->values, {std::tanh(1.0)}, epsilon);
      });
}

TEST_CASE("A6: query head h reads KV head h * n_kv_heads / n_heads") {
  for (const auto& [n_heads, n_kv_heads] : {std::pair{4, 2}, {6, 2}, {6, 3}, {7, 7}, {5, 1}}) {
    for_each_answer(
        "b1_hq" + std::to_string(n_heads) + "_hkv" + std::to_string(n_kv_heads) + "_q1_kv1_d1",
        [](Data& data) {
          for (std::size_t h = 0; h < data.v.values.size(); ++h)
            data.v.values[h] = 10 * static_cast<double>(h + 1);
        },
        [heads = n_heads, kv_heads = n_kv_heads](const Answer& answer, double) {
          for (int h = 0; h < heads; ++h) CHECK(answer.out(0, h, 0, 0) == 10 * (h * kv_heads / heads + 1));
        });
  }
}

TEMPLATE_TEST_CASE("A7: ALiBi slopes when heads are not a power of two", "", float, double) {
  const auto slopes = [](std::ptrdiff_t n_heads) {
    std::vector<TestType> result(static_cast<std::size_t>(n_heads));
    alibi_slopes(View<TestType, 1>{result.data(), {n_heads}, {1}});
    return result;
  };
  CHECK(slopes(6) == std::vector<TestType>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
  CHECK(slopes(3) == std::vector<TestType>{0.0625, 0.00390625, 0.25});
  CHECK(slopes(8) ==
        std::vector<TestType>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
  CHECK(slopes(1) == std::vector<TestType>{0.00390625});
}

TEST_CASE("A7: the slope of head 4 of 6") {
  for_each_answer(
      "b1_hq6_hkv1_q1_kv2_d1_causal",
      [](Data& data) {
        std::fill(data.q.values.begin(), data.q.values.end(), 0);
        data.v.values = {0, 1};
        data.alibi_slopes = Array<1>({6});
        data.alibi_slopes->values = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
      },
      [](const Answer& answer, double epsilon) {
        check_close({answer.out.values[4]}, {1 / (1 + std::exp(-0.5))}, epsilon);
      });
}

TEST_CASE("A8: views without contiguous elements") {
  const Data data = make_data("b2_hq4_hkv4_q3_kv3_d5_causal_f64"_problem);
  for_each_isa([&](const Isa& isa) {
    const Answer expected = run(data, all_outputs);
    for (const Layout layout : {Layout::permuted, Layout::gapped, Layout::reversed, Layout::columns,
                                Layout::repeated, Layout::paged}) {
      Call call = all_outputs;
      call.layout = layout;
      CAPTURE(isa.table->name, static_cast<int>(layout));
      CHECK(difference(expected, run(data, call)) == "");
    }
  });
}

TEST_CASE("A9: merging empty partial results") {
  const auto part = [](double out, double lse) {
    Answer answer;
    answer.out = Array<4>({1, 1, 1, 1}, out);
    answer.lse = Array<3>({1, 1, 1}, lse);
    return answer;
  };
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const auto merged = [&](const Answer& a, const Answer& b) {
      const Answer answer = merge_answers(dtype, a, b);
      return std::pair{answer.out.values[0], answer.lse->values[0]};
    };
    CHECK(merged(part(0, -infinity), part(0, -infinity)) == std::pair{0.0, -infinity});
    CHECK(merged(part(0, -infinity), part(0.75, -3.5)) == std::pair{0.75, -3.5});
    CHECK(merged(part(0.75, -3.5), part(0, -infinity)) == std::pair{0.75, -3.5});
    const auto [out, lse] = merged(part(2, 0), part(4, 0));
    CHECK(out == 3);
    CHECK(std::abs(lse - std::log(2.0)) <= 4 * unit_roundoff(dtype));
  }
}

TEST_CASE("A10: no finite stand-in for -inf") {
  for_each_answer("b1_hq1_hkv1_q1_kv2_d1_scale1", values({1}, {-60000, -60001}, {1, 2}),
                  [](const Answer& answer, double epsilon) {
                    // The scores' own rounding: |t| log2 e of relative error u moves a weight by that much.
                    const double weight = 1 / (1 + std::exp(-1.0)), room = 60001 * epsilon;
                    check_close(answer.out.values, {2 - weight}, room);
                    check_close(answer.weights->values, {weight, 1 - weight}, room);
                    check_close(answer.lse->values, {-60000 + std::log1p(std::exp(-1.0))}, epsilon);
                  });
  for_each_answer("b1_hq1_hkv1_q1_kv2_d1_scale1", values({1}, {-0x1p99, -0x1p99}, {1, 2}),
                  [](const Answer& answer, double) { CHECK(answer.out.values[0] == 1.5); });
}

TEST_CASE("A11: the result does not depend on the number of threads", "[threads]") {
  for (const char* problem :
       {"b1_hq4_hkv4_q1_kv1024_d64_f32_s11", "b1_hq4_hkv4_q1_kv1024_d64_f64_s11",
        "b8_hq8_hkv4_q1_kv1024_d64_causal_f32_s11", "b1_hq4_hkv2_q150_kv150_d64_causal_f64_s11"}) {
    const Data data = make_data(parse_problem(problem));
    for_each_isa([&](const Isa& isa) {
      const Answer expected = run(data, all_outputs);
      for (const int threads : {1, 2, 3, 4, 5, 8}) {
        CAPTURE(problem, isa.table->name, threads);
        with_threads(threads, [&] { CHECK(difference(expected, run(data, all_outputs)) == ""); });
      }
    });
  }
}
