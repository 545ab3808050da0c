// The tests' own tools: problem strings, 16-bit values, placement in memory, and the comparison by bits.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "reference/attention_definition.hpp"
#include "support/fill.hpp"
#include "support/run.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("a problem string says the whole problem") {
  const Problem problem = "b1_hq8_hkv2_q1_kv4096_d128_causal_f32"_problem;
  CHECK(problem.n_heads == 8);
  CHECK(problem.n_kv_heads == 2);
  CHECK(problem.kv_len == 4096);
  CHECK(problem.v_dim == 128);
  CHECK(problem.causal == Causal::bottom_right);
  for (const char* text : {
           "b1_hq8_hkv2_q1_kv4096_d128_causal_f32",
           "b0_hq1_hkv1_q0_kv0_d1_dv70_topleft_w3_km-runs_kl_qm-left_at-sparse_bias_alibi_cap1e-05_scale-0."
           "25_mag1e+30_f16_s99",
           "b2_hq1_hkv1_q3_kv4_d5_km-all_qm-none_at-first_scale0_f64_s18446744073709551615",
           "b2_hq1_hkv1_q3_kv4_d5_km-last_qm-random_cap0_x50_bf16",
       }) {
    CHECK(format(parse_problem(text)) == text);
  }
  CHECK_THROWS_WITH(parse_problem("b1_y9_f32"), Catch::Contains("'y9'"));
  CHECK_THROWS_WITH(parse_problem("b1_km-some_f32"), Catch::Contains("'km-some'"));
  CHECK_THROWS_WITH(parse_problem("b1__f32"), Catch::Contains("''"));
}

TEST_CASE("seeded values are fixed for ever and differ by seed and stream") {
  CHECK(random_bits(0, 0, 0) == random_bits(0, 0, 0));
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (std::uint64_t stream = 0; stream < 4; ++stream) {
      for (std::uint64_t index = 0; index < 64; ++index) seen.insert(random_bits(seed, stream, index));
    }
  }
  CHECK(seen.size() == 4 * 4 * 64);
}

TEST_CASE("16-bit values are encoded exactly and rounded to nearest") {
  for (int bits = 0; bits < 0x7f80; ++bits) {
    const bf16 b{static_cast<std::uint16_t>(bits)};
    if (encode<bf16>(reference::widen(b)).bits != bits) FAIL("bf16 " << bits);
    if (rounded_to(Dtype::bf16, reference::widen(b)) != reference::widen(b)) FAIL("bf16 " << bits);
  }
  for (int bits = 0; bits <= 0x7c00; ++bits) {
    const f16 h{static_cast<std::uint16_t>(bits)};
    if (encode<f16>(reference::widen(h)).bits != bits) FAIL("f16 " << bits);
    if (rounded_to(Dtype::f16, reference::widen(h)) != reference::widen(h)) FAIL("f16 " << bits);
  }
  CHECK(encode<f16>(-1.0).bits == 0xbc00);
  CHECK(rounded_to(Dtype::f16, 1 + 0x1p-11) == 1);
  CHECK(rounded_to(Dtype::f16, 1 + 3 * 0x1p-11) == 1 + 0x1p-9);
  CHECK(std::isinf(rounded_to(Dtype::f16, 65520)));
}

TEST_CASE("every layout holds the same numbers, and writing beside a view is seen") {
  Array<4> values({2, 3, 4, 5});
  for (std::size_t i = 0; i < values.values.size(); ++i) values.values[i] = static_cast<double>(i / 20 % 3);
  for (const Layout layout : {Layout::dense, Layout::permuted, Layout::gapped, Layout::reversed,
                              Layout::columns, Layout::repeated, Layout::paged}) {
    for (const bool flush_end : {true, false}) {
      Placed<float, 4> place(values, layout, flush_end);
      const View<float, 4> view = place.view();
      for (std::ptrdiff_t b = 0; b < 2; ++b) {
        for (std::ptrdiff_t h = 0; h < 3; ++h) {
          CHECK(view(b, h, 3, 4) == values(b, h, 3, 4));
          CHECK(view(b, h, 0, 0) == values(b, h, 0, 0));
        }
      }
      if (layout == Layout::repeated) CHECK(view.strides == std::array<std::ptrdiff_t, 4>{0, 1, 0, 0});
    }
  }
  Placed<float, 2> out(std::array<std::ptrdiff_t, 2>{3, 4}, Layout::gapped);
  CHECK(out.untouched());
  for (std::ptrdiff_t i = 0; i < 3; ++i) {
    for (std::ptrdiff_t j = 0; j < 4; ++j) out.view()(i, j) = static_cast<float>(10 * i + j);
  }
  CHECK(out.take()(2, 3) == 23);
  CHECK(out.untouched());
  out.view().data[1] = 0;
  CHECK_THROWS_AS(out.take(), std::logic_error);
}

TEST_CASE("the definition gives the same bits for every layout") {
  const Data data =
      make_data("b2_hq4_hkv2_q5_kv19_d3_dv4_causal_w7_km-random_qm-random_at-random_bias_alibi_f32"_problem);
  const Answer expected = define(data, all_outputs);
  for (const Layout layout : {Layout::permuted, Layout::gapped, Layout::reversed, Layout::columns,
                              Layout::repeated, Layout::paged}) {
    Call call = all_outputs;
    call.layout = layout;
    call.forbid_padding = layout == Layout::paged;
    CHECK(difference(expected, define(data, call)) == "");
  }
}

TEST_CASE("a difference names the first element and both values") {
  Array<2> expected({2, 3}), actual({2, 3});
  CHECK(difference("out", expected, actual) == "");
  actual(1, 0) = -0.0;
  actual(1, 2) = 4;
  CHECK_THAT(difference("out", expected, actual),
             Catch::Contains("out[1, 0]: expected 0") && Catch::Contains("2 of 6"));
}
