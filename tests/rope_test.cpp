// Rotary positions: exact identity at 0, accuracy far out, pairings, strides, in place, refusals.
#include "rope.hpp"

#include <rapt/error.hpp>

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace rapt;
using Catch::Contains;

namespace {

struct FarAngle {
  std::ptrdiff_t head_dim;
  double base;
  std::int64_t position;
  std::ptrdiff_t pair;
  long double cosine;
  long double sine;
};

// Computed with 120 decimal digits: angle = position * base^(-2 pair / head_dim), reduced by 2 pi, Taylor
// series.
const FarAngle far_angles[]{
    {64, 10000.0, 1, 1, 0.73176097579872475721L, 0.68156135035526930925L},
    {64, 10000.0, -1, 31, 0.99999999110860296298L, -0.00013335214282110345L},
    {64, 10000.0, 4095, 7, 0.84720450969630886677L, -0.53126689973142209243L},
    {128, 500000.0, 131072, 17, 0.93141630768228360862L, 0.36395557666218221089L},
    {128, 10000.0, 1000003, 1, 0.86414955207490692092L, -0.50323508586816334152L},
    {128, 10000.0, 1099511627775, 2, 0.77579166337359346485L, -0.63098914019183645543L},
    {2, 10000.0, 1099511627775, 0, -0.83522750326593581836L, 0.54990455334371543270L},
    {128, 1000000.0, 2147483655, 33, 0.68212461696714241514L, -0.73123594477256740362L},
    {6, 1.5, 123456789, 2, 0.89871617157609701042L, -0.43853077765147038766L},
    {128, 10000.0, 4611686018427400249, 1, 0.81111229718211050972L, 0.58489045244383981419L},
    {96, 10000.0, std::numeric_limits<std::int64_t>::min(), 5, 0.97065549515736739478L,
     -0.24047434316534876861L},
};

// The row (1, 0) of one pair among zeros turns into (cosine, sine) with no rounding but theirs.
template <class T>
std::array<T, 2> turn_of(const FarAngle& angle) {
  std::vector<T> row(static_cast<std::size_t>(angle.head_dim), T(0));
  row[static_cast<std::size_t>(angle.pair)] = T(1);
  RowRotation<T> rotation(angle.head_dim, {.base = angle.base});
  rotation.move_to(angle.position);
  rotation.apply(row.data(), 1, row.data(), 1);
  return {row[static_cast<std::size_t>(angle.pair)],
          row[static_cast<std::size_t>(angle.pair + angle.head_dim / 2)]};
}

constexpr std::ptrdiff_t rows = 5;

template <class T>
std::vector<T> sample(std::ptrdiff_t size) {
  std::vector<T> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(std::sin(static_cast<double>(3 * i + 1)));
  return values;
}

template <class T>
std::vector<T> rotated(const std::vector<T>& x, std::ptrdiff_t head_dim,
                       const std::vector<std::int64_t>& positions, const RopeOptions& options = {}) {
  std::vector<T> out(x.size());
  const auto len = std::ssize(positions);
  const std::ptrdiff_t heads = std::ssize(x) / (len * head_dim);
  rope(contiguous(x.data(), {1, heads, len, head_dim}), contiguous(positions.data(), {len}),
       contiguous(out.data(), {1, heads, len, head_dim}), options);
  return out;
}

}  // namespace

// Bounds: half an ulp of float (2^-25) plus the angle's error of at most 2^63 * 128 * 2^-100 = 2^-30; in f64
// one ulp (2^-53) plus 2^40 * 128 * 2^-100. Largest errors seen: 2^-25.09 and 2^-53.48; with one double for
// the frequency they would be 2^-0.4 and 2^-14.5.
TEST_CASE("the rotation is accurate at every 64-bit position in f32, and to 2^40 in f64") {
  for (const FarAngle& angle : far_angles) {
    const auto [c32, s32] = turn_of<float>(angle);
    CHECK(std::fabs(c32 - angle.cosine) <= 0x1p-25L + 0x1p-30L);
    CHECK(std::fabs(s32 - angle.sine) <= 0x1p-25L + 0x1p-30L);
    if (angle.position > std::int64_t{1} << 40 || angle.position < -(std::int64_t{1} << 40)) continue;
    const auto [c64, s64] = turn_of<double>(angle);
    CHECK(std::fabs(c64 - angle.cosine) <= 0x1p-53L + 0x1p-53L);
    CHECK(std::fabs(s64 - angle.sine) <= 0x1p-53L + 0x1p-53L);
  }
}

TEMPLATE_TEST_CASE("a row at position 0 keeps its bits, signed zeros, infinities and NaN too", "", float,
                   double) {
  const TestType inf = std::numeric_limits<TestType>::infinity();
  const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  const std::vector<TestType> x{TestType(-0.0), TestType(-1.0), inf, nan, TestType(0.0), TestType(5.0)};
  for (const bool interleaved : {false, true}) {
    const std::vector<TestType> out = rotated(x, 6, {0}, {.interleaved = interleaved});
    for (std::size_t u = 0; u < x.size(); ++u) {
      CHECK(std::signbit(out[u]) == std::signbit(x[u]));
      CHECK((out[u] == x[u] || (std::isnan(out[u]) && std::isnan(x[u]))));
    }
  }
}

TEMPLATE_TEST_CASE("interleaved rotates pairs (2i, 2i + 1), otherwise (i, i + D/2)", "", float, double) {
  const std::ptrdiff_t head_dim = 70;  // two blocks of pairs and a tail
  const std::vector<TestType> halves = sample<TestType>(head_dim);
  std::vector<TestType> interleaved(halves.size());
  for (std::size_t i = 0; i < 35; ++i) {
    interleaved[2 * i] = halves[i];
    interleaved[2 * i + 1] = halves[i + 35];
  }
  const std::vector<TestType> a = rotated(halves, head_dim, {12345});
  const std::vector<TestType> b = rotated(interleaved, head_dim, {12345}, {.interleaved = true});
  for (std::size_t i = 0; i < 35; ++i) {
    CHECK(a[i] == b[2 * i]);
    CHECK(a[i + 35] == b[2 * i + 1]);
    CHECK(a[i] != halves[i]);
  }
}

TEMPLATE_TEST_CASE("rotating in place, backwards, with gaps or row by row gives the same bits", "", float,
                   double) {
  const std::vector<std::int64_t> positions{7, 0, -3, 100000, 7};
  for (const std::ptrdiff_t head_dim : {2, 6, 32, 36}) {
    const std::ptrdiff_t heads = 3;
    const std::vector<TestType> x = sample<TestType>(heads * rows * head_dim);
    const std::vector<TestType> expected = rotated(x, head_dim, positions);

    std::vector<TestType> in_place = x;
    const auto all = contiguous(in_place.data(), {1, heads, rows, head_dim});
    rope(all, contiguous(positions.data(), {rows}), all);
    CHECK(in_place == expected);
    View<TestType, 4> same = all;
    same.strides[0] = 12345;  // of an axis of extent 1: the same elements
    in_place = x;
    rope(all, contiguous(positions.data(), {rows}), same);
    CHECK(in_place == expected);

    std::vector<TestType> gaps(x.size() * 2, TestType(9));
    const View<TestType, 4> backwards{gaps.data() + gaps.size() - 1,
                                      {1, heads, rows, head_dim},
                                      {0, -2 * rows * head_dim, -2 * head_dim, -2}};
    rope(contiguous(x.data(), {1, heads, rows, head_dim}), contiguous(positions.data(), {rows}), backwards);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(gaps[gaps.size() - 1 - 2 * i] == expected[i]);
      CHECK(gaps[gaps.size() - 2 - 2 * i] == TestType(9));
    }

    RowRotation<TestType> rotation(head_dim, {.base = 3.0});
    rotation.set_options({});
    std::vector<TestType> one(static_cast<std::size_t>(head_dim));
    for (std::ptrdiff_t i = 0; i < heads * rows; ++i) {
      rotation.move_to(positions[static_cast<std::size_t>(i % rows)]);
      rotation.apply(x.data() + i * head_dim, 1, one.data(), 1);
      CHECK(std::equal(one.begin(), one.end(), expected.begin() + i * head_dim));
    }
  }
}

TEMPLATE_TEST_CASE("sequences may stand at different positions", "", float, double) {
  const std::ptrdiff_t head_dim = 4;
  const std::vector<TestType> x = sample<TestType>(2 * 2 * head_dim);
  const std::vector<std::int64_t> positions{5, 6, 900, 901};
  std::vector<TestType> out(x.size());
  rope(contiguous(x.data(), {2, 1, 2, head_dim}), contiguous(positions.data(), {2, 2}),
       contiguous(out.data(), {2, 1, 2, head_dim}));
  const std::vector<TestType> flat = rotated(x, head_dim, positions);
  CHECK(out == flat);
}

TEST_CASE("an empty batch, no head and no row are valid") {
  const std::vector<std::int64_t> positions{1, 2};
  float value = 3.0F;
  rope(contiguous<const float>(&value, {0, 1, 2, 2}), contiguous(positions.data(), {2}),
       contiguous(&value, {0, 1, 2, 2}));
  rope(contiguous<const float>(&value, {1, 0, 2, 2}), contiguous(positions.data(), {2}),
       contiguous(&value, {1, 0, 2, 2}));
  rope(contiguous<const float>(&value, {1, 1, 0, 2}), contiguous(positions.data(), {0}),
       contiguous(&value, {1, 1, 0, 2}));
  CHECK(value == 3.0F);
}

TEST_CASE("rope refuses what it cannot rotate and leaves out alone") {
  std::vector<float> x(24, 1.0F);
  std::vector<float> out(24, -7.0F);
  const std::vector<std::int64_t> positions{1, 2, 3};
  const auto call = [&](std::ptrdiff_t len, std::ptrdiff_t head_dim, std::ptrdiff_t n_positions,
                        const RopeOptions& options) {
    rope(contiguous<const float>(x.data(), {1, 1, len, head_dim}),
         contiguous(positions.data(), {n_positions}), contiguous(out.data(), {1, 1, len, head_dim}), options);
  };
  CHECK_THROWS_WITH(call(3, 3, 3, {}), Contains("head_dim is 3") && Contains("even"));
  CHECK_THROWS_WITH(call(3, 0, 3, {}), Contains("head_dim is 0"));
  CHECK_THROWS_WITH(call(3, 4, 2, {}), Contains("positions: [1, 2]") && Contains("[1, 1, 3, 4]"));
  CHECK_THROWS_WITH(call(3, 4, 3, {.base = 0.5}), Contains("base is 0.5"));
  CHECK_THROWS_AS(call(3, 4, 3, {.base = std::numeric_limits<double>::quiet_NaN()}), invalid_input);
  CHECK_THROWS_AS(call(3, 4, 3, {.base = std::numeric_limits<double>::infinity()}), invalid_input);
  const auto positions_view = contiguous(positions.data(), {3});
  CHECK_THROWS_WITH(rope(contiguous<const float>(x.data(), {1, 1, 3, 4}), positions_view,
                         contiguous(out.data(), {1, 1, 3, 2})),
                    Contains("out: [1, 1, 3, 2]"));
  CHECK_THROWS_WITH(rope(contiguous<const float>(x.data(), {1, 1, 3, 4}), positions_view,
                         contiguous(x.data() + 1, {1, 1, 3, 4})),
                    Contains("overlaps"));
  const auto sized = [&](std::ptrdiff_t batch, std::ptrdiff_t stride) {
    const std::array<std::ptrdiff_t, 4> extents{batch, 1, 3, 4}, strides{stride, 12, 4, 1};
    rope(View<const float, 4>{x.data(), extents, strides}, positions_view,
         View<float, 4>{out.data(), extents, strides});
  };
  CHECK_THROWS_WITH(sized(-1, 12), Contains("x: batch -1, expected at least 0"));
  CHECK_THROWS_WITH(sized(std::ptrdiff_t{1} << 61, 12), Contains("x: ") && Contains("address space"));
  CHECK_THROWS_WITH(sized(2, 0), Contains("out: ") && Contains("same element"));
  CHECK(out == std::vector<float>(24, -7.0F));
  CHECK(x == std::vector<float>(24, 1.0F));
}

TEST_CASE("a call large enough for several threads gives the bits of its rows", "[threads]") {
  const std::ptrdiff_t heads = 2, len = 3000, head_dim = 64;
  std::vector<std::int64_t> positions(static_cast<std::size_t>(len));
  for (std::size_t t = 0; t < positions.size(); ++t) positions[t] = static_cast<std::int64_t>(t * t);
  const std::vector<float> x = sample<float>(heads * len * head_dim);
  const std::vector<float> out = rotated(x, head_dim, positions);
  RowRotation<float> rotation(head_dim, {});
  std::vector<float> row(static_cast<std::size_t>(head_dim));
  for (std::ptrdiff_t i = 0; i < heads * len; i += 7) {
    rotation.move_to(positions[static_cast<std::size_t>(i % len)]);
    rotation.apply(x.data() + i * head_dim, 1, row.data(), 1);
    REQUIRE(std::equal(row.begin(), row.end(), out.begin() + i * head_dim));
  }
}
