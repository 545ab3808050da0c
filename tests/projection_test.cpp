// Projections: exact sums, the split into heads, shared packed weights, strides, refusals in order.
#include <rapt/error.hpp>
#include <rapt/projection.hpp>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "dispatch.hpp"

using namespace rapt;
using Catch::Contains;

namespace {

template <class T>
std::vector<T> sample(std::ptrdiff_t size, int start) {
  std::vector<T> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(std::sin(static_cast<double>(i) * 3 + start));
  return values;
}

// The definition, in the arithmetic of the active ISA: one chain in ascending order, then the bias.
template <class T>
T element(const View<const T, 3>& x, const View<const T, 2>& weight, const T* bias, std::ptrdiff_t b,
          std::ptrdiff_t t, std::ptrdiff_t j, Arithmetic arithmetic, bool has_fma) {
  T sum = 0;
  for (std::ptrdiff_t s = 0; s < x.extents[2]; ++s) {
    if (arithmetic == Arithmetic::fused && has_fma) {
      sum = std::fma(x(b, t, s), weight(s, j), sum);
    } else {
      const T product = x(b, t, s) * weight(s, j);
      sum = sum + product;
    }
  }
  return bias == nullptr ? sum : sum + bias[j];
}

}  // namespace

TEMPLATE_TEST_CASE("a projection is one ascending sum and then the bias, on every ISA, in both arithmetics",
                   "", float, double) {
  struct Case {
    std::ptrdiff_t batch, len, in_dim, n_heads, head_dim;
  };
  for (const Isa& isa : compiled_isas()) {
    if (!isa.runnable) continue;
    const ScopedIsa scope(*isa.table);
    for (const Case& at : {Case{1, 1, 1, 1, 1}, Case{2, 3, 5, 2, 3}, Case{3, 1, 300, 4, 8},
                           Case{1, 200, 17, 1, 40}, Case{2, 101, 270, 3, 200}, Case{2, 2, 0, 1, 4}}) {
      const std::ptrdiff_t out_dim = at.n_heads * at.head_dim;
      const auto x_values = sample<TestType>(at.batch * at.len * at.in_dim, 1);
      const auto w_values = sample<TestType>(at.in_dim * out_dim, 2);
      const auto bias = sample<TestType>(out_dim, 3);
      const auto x = contiguous(x_values.data(), {at.batch, at.len, at.in_dim});
      const auto weight = contiguous(w_values.data(), {at.in_dim, out_dim});
      for (const Arithmetic arithmetic : {Arithmetic::fused, Arithmetic::textbook}) {
        for (const bool biased : {false, true}) {
          const Projection<TestType> weights =
              biased ? Projection<TestType>(weight, contiguous(bias.data(), {out_dim}))
                     : Projection<TestType>(weight);
          std::vector<TestType> flat(static_cast<std::size_t>(at.batch * at.len * out_dim), TestType(-7));
          std::vector<TestType> heads(flat.size(), TestType(-7));
          const auto out = contiguous(flat.data(), {at.batch, at.len, out_dim});
          const auto split = contiguous(heads.data(), {at.batch, at.n_heads, at.len, at.head_dim});
          project(x, weights, out, arithmetic);
          project(x, weights, split, arithmetic);
          for (std::ptrdiff_t b = 0; b < at.batch; ++b) {
            for (std::ptrdiff_t t = 0; t < at.len; ++t) {
              for (std::ptrdiff_t j = 0; j < out_dim; j += 1 + j % 3) {
                const TestType expected =
                    element(x, weight, biased ? bias.data() : nullptr, b, t, j, arithmetic, isa.has_fma);
                REQUIRE(out(b, t, j) == expected);
                REQUIRE(split(b, j / at.head_dim, t, j % at.head_dim) == expected);
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("strides of x, weight, bias and out do not matter") {
  const std::ptrdiff_t batch = 2, len = 3, in_dim = 4, out_dim = 6;
  const auto x_values = sample<double>(batch * len * in_dim, 1);
  const auto w_values = sample<double>(in_dim * out_dim, 2);
  const auto bias = sample<double>(2 * out_dim, 3);
  const View<const double, 3> x{x_values.data() + 2, {batch, len, in_dim}, {0, -1, 4}};  // overlapping rows
  const View<const double, 2> weight{w_values.data(), {in_dim, out_dim}, {1, in_dim}};
  const Projection<double> weights(weight,
                                   View<const double, 1>{bias.data() + 2 * out_dim - 2, {out_dim}, {-2}});
  std::vector<double> out(static_cast<std::size_t>(2 * batch * len * out_dim), -7.0);
  const View<double, 4> split{out.data() + out.size() - 1, {batch, 2, len, 3}, {-72 / 2, -18, -2, -6}};
  project(x, weights, split);
  for (std::ptrdiff_t b = 0; b < batch; ++b)
    for (std::ptrdiff_t t = 0; t < len; ++t)
      for (std::ptrdiff_t j = 0; j < out_dim; ++j) {
        double sum = 0;
        for (std::ptrdiff_t s = 0; s < in_dim; ++s) sum = std::fma(x(b, t, s), weight(s, j), sum);
        CHECK(split(b, j / 3, t, j % 3) == sum + bias[static_cast<std::size_t>(2 * out_dim - 2 - 2 * j)]);
      }
  for (std::size_t i = 0; i < out.size(); i += 2) CHECK(out[i] == -7.0);
}

TEST_CASE("sequences that lie apart give the bits of sequences that lie side by side") {
  constexpr std::ptrdiff_t batch = 3, len = 5, in_dim = 7, out_dim = 4, gap = 9;
  const auto x = sample<float>(batch * (len * in_dim + gap), 1);
  std::vector<float> dense;
  for (std::ptrdiff_t b = 0; b < batch; ++b) {
    const auto first = x.begin() + b * (len * in_dim + gap);
    dense.insert(dense.end(), first, first + len * in_dim);
  }
  const auto weight = sample<float>(in_dim * out_dim, 2);
  const Projection<float> weights(contiguous(weight.data(), {in_dim, out_dim}));
  std::vector<float> expected(batch * len * out_dim), actual(expected.size());
  project(contiguous<const float>(dense.data(), {batch, len, in_dim}), weights,
          contiguous(expected.data(), {batch, len, out_dim}));
  project(View<const float, 3>{x.data(), {batch, len, in_dim}, {len * in_dim + gap, in_dim, 1}}, weights,
          contiguous(actual.data(), {batch, len, out_dim}));
  CHECK(actual == expected);
}

TEMPLATE_TEST_CASE("split_heads is a view of the projection's memory", "", float, double, const float,
                   const double) {
  std::remove_const_t<TestType> values[2 * 3 * 8]{};
  const auto projected = contiguous<TestType>(values, {2, 3, 8});
  const View<TestType, 4> heads = split_heads(projected, 4);
  CHECK(heads.extents == std::array<std::ptrdiff_t, 4>{2, 4, 3, 2});
  for (std::ptrdiff_t b = 0; b < 2; ++b)
    for (std::ptrdiff_t h = 0; h < 4; ++h)
      for (std::ptrdiff_t t = 0; t < 3; ++t)
        for (std::ptrdiff_t x = 0; x < 2; ++x) CHECK(&heads(b, h, t, x) == &projected(b, t, h * 2 + x));
  CHECK_THROWS_WITH(split_heads(projected, 0), Contains("positive"));
  CHECK_THROWS_WITH(split_heads(projected, 3), Contains("width 8") && Contains("divisible by n_heads 3"));
}

TEST_CASE("project_qkv is three projections, and refuses in the order of its contract") {
  const std::ptrdiff_t batch = 2, len = 3, width = 4, n_heads = 3, n_kv_heads = 2, head_dim = 2;
  const auto x_values = sample<double>(batch * len * width, 1);
  const auto w_values = sample<double>(width * 12, 2);
  const auto x = contiguous(x_values.data(), {batch, len, width});
  const auto weight = [&](std::ptrdiff_t rows, std::ptrdiff_t columns) {
    return Projection<double>(contiguous(w_values.data(), {rows, columns}));
  };
  const auto w_q = weight(width, 6), w_k = weight(width, 4), w_v = weight(width, 4);
  std::vector<double> storage(3 * 36, -7.0);
  const auto heads = [&](std::ptrdiff_t slot, std::ptrdiff_t n, std::ptrdiff_t dim) {
    return contiguous(storage.data() + slot * 36, {batch, n, len, dim});
  };
  const auto q = heads(0, n_heads, head_dim), k = heads(1, n_kv_heads, head_dim),
             v = heads(2, n_kv_heads, head_dim);

  const auto nothing_written = [&] { return storage == std::vector<double>(3 * 36, -7.0); };
  const auto call = [&](const Projection<double>& a, const Projection<double>& b, const Projection<double>& c,
                        View<double, 4> q_out,
                        View<double, 4> k_out) { project_qkv(x, a, b, c, q_out, k_out, v); };
  CHECK_THROWS_WITH(call(weight(3, 5), w_k, w_v, heads(0, 0, 2), k),
                    Contains("n_heads is 0, expected positive"));
  CHECK_THROWS_WITH(call(w_q, weight(3, 5), w_v, q, heads(1, 0, 2)), Contains("n_kv_heads is 0"));
  CHECK_THROWS_WITH(call(weight(width, 5), weight(3, 5), w_v, q, k),
                    Contains("w_k: rows 3") && Contains("input width 4"));
  CHECK_THROWS_WITH(call(weight(width, 5), weight(width, 8), w_v, q, k),
                    Contains("w_q: width 5") && Contains("divisible"));
  CHECK_THROWS_WITH(call(w_q, weight(width, 8), w_v, q, k), Contains("D_head") && Contains("w_k 4"));
  CHECK_THROWS_WITH(call(w_q, w_k, w_v, heads(0, n_heads, 3), k), Contains("q: [2, 3, 3, 3]"));
  CHECK_THROWS_WITH(project_qkv(x, w_q, w_k, w_v, q, k, v, static_cast<Arithmetic>(2)),
                    "arithmetic: 2, expected textbook or fused");
  CHECK(nothing_written());

  project_qkv(x, w_q, w_k, w_v, q, k, v);
  std::vector<double> expected(36);
  project(x, w_q, contiguous(expected.data(), {batch, n_heads, len, head_dim}));
  CHECK(std::equal(expected.begin(), expected.begin() + 36, storage.begin()));
  project(x, w_v, contiguous(expected.data(), {batch, n_kv_heads, len, head_dim}));
  CHECK(std::equal(expected.begin(), expected.begin() + 24, storage.begin() + 72));
}

TEST_CASE("project refuses a bias of another length, another input width, and an output that overlaps x") {
  std::vector<float> values(64, 1.0F);
  const auto weight = contiguous<const float>(values.data(), {4, 4});
  CHECK_THROWS_WITH(Projection<float>(weight, contiguous<const float>(values.data(), {3})),
                    Contains("length 3") && Contains("out_dim 4"));
  const Projection<float> weights(weight);
  CHECK(weights.in_dim() == 4);
  CHECK(weights.out_dim() == 4);
  CHECK_THROWS_WITH(project(contiguous<const float>(values.data(), {1, 2, 3}), weights,
                            contiguous(values.data() + 32, {1, 2, 4})),
                    Contains("input width 3"));
  CHECK_THROWS_WITH(project(contiguous<const float>(values.data(), {1, 2, 4}), weights,
                            contiguous(values.data() + 4, {1, 2, 4})),
                    Contains("overlaps x"));
  CHECK_THROWS_WITH(project(contiguous<const float>(values.data(), {1, 2, 4}), weights,
                            contiguous(values.data() + 32, {1, 0, 2, 4})),
                    Contains("out: n_heads is 0"));
  CHECK_THROWS_WITH(project(contiguous<const float>(values.data(), {1, 2, 4}), weights,
                            contiguous(values.data() + 32, {1, 2, 4}), static_cast<Arithmetic>(-1)),
                    "arithmetic: -1, expected textbook or fused");
  CHECK(values == std::vector<float>(64, 1.0F));
}

TEST_CASE(
    "projections refuse extents below 0, beyond the address space, and outputs that name elements twice") {
  constexpr std::ptrdiff_t huge = std::ptrdiff_t{1} << 61;
  std::vector<float> values(64, 1.0F);
  const auto view = [&](std::array<std::ptrdiff_t, 3> extents, std::array<std::ptrdiff_t, 3> strides) {
    return View<float, 3>{values.data() + 32, extents, strides};
  };
  const auto weight = contiguous<const float>(values.data(), {4, 4});
  const Projection<float> weights(weight);
  const auto x = [&](std::ptrdiff_t batch, std::ptrdiff_t len, std::ptrdiff_t stride) {
    return View<const float, 3>{values.data(), {batch, len, 4}, {stride, 4, 1}};
  };
  CHECK_THROWS_WITH(project(x(-1, 2, 8), weights, view({-1, 2, 4}, {8, 4, 1})), Contains("x: batch -1"));
  CHECK_THROWS_WITH(project(x(1, -2, 8), weights, view({1, -2, 4}, {8, 4, 1})), Contains("x: len -2"));
  CHECK_THROWS_WITH(project(x(huge, 2, 8), weights, view({huge, 2, 4}, {8, 4, 1})),
                    Contains("x: ") && Contains("address space"));
  CHECK_THROWS_WITH(project(x(huge, 2, 0), weights, view({huge, 2, 4}, {8, 4, 1})),
                    Contains("x: ") && Contains("address space"));
  CHECK_THROWS_WITH(project(x(1, 2, 8), weights, view({1, 2, 4}, {8, 0, 1})),
                    Contains("out: ") && Contains("same element"));
  CHECK_THROWS_WITH((Projection<float>(View<const float, 2>{values.data(), {-4, 4}, {4, 1}})),
                    Contains("weight: in_dim -4"));
  CHECK_THROWS_WITH((Projection<float>(View<const float, 2>{values.data(), {0, PTRDIFF_MAX}, {4, 1}})),
                    Contains("weight: out_dim"));
  CHECK_THROWS_WITH((Projection<float>(weight, View<const float, 1>{values.data(), {-1}, {1}})),
                    Contains("bias"));
  CHECK_THROWS_WITH(split_heads(view({1, 2, -4}, {8, 4, 1}), 2), Contains("projected: width -4"));
  const auto heads = [&](std::ptrdiff_t first) { return contiguous(values.data() + first, {1, 2, 2, 2}); };
  CHECK_THROWS_WITH(project_qkv(x(1, 2, 8), weights, weights, weights, heads(32), heads(40), heads(44)),
                    Contains("v: overlaps k"));
  CHECK(values == std::vector<float>(64, 1.0F));
  // Nothing to do, however many rows of it.
  const std::ptrdiff_t many = std::ptrdiff_t{1} << 40;
  const Projection<float> empty(View<const float, 2>{values.data(), {4, 0}, {0, 1}});
  project(View<const float, 3>{values.data(), {many, many, 4}, {0, 0, 1}}, empty,
          View<float, 3>{values.data(), {many, many, 0}, {0, 0, 1}});
}

// The sanitizers tell when an address is made of nothing.
TEST_CASE("an input and a weight of no steps need no memory, whatever their strides") {
  constexpr std::ptrdiff_t len = 40, width = 48;
  std::vector<float> out(static_cast<std::size_t>(len * width), 7);
  for (const std::ptrdiff_t stride : {std::ptrdiff_t{1}, std::ptrdiff_t{1} << 61}) {
    const Projection<float> weights(View<const float, 2>{nullptr, {0, width}, {stride, stride}});
    project(View<const float, 3>{nullptr, {1, len, 0}, {stride, stride, 1}}, weights,
            contiguous(out.data(), {1, len, width}));
    CHECK(out == std::vector<float>(out.size(), 0.0F));
    out.assign(out.size(), 7);
  }
}
