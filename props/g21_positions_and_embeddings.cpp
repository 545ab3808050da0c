// G21: positions and embeddings. PE(0) is 0, 1, 0, 1, ...; PE(pos + k) is a rotation of PE(pos); one-hot rows
// are orthonormal and sorted; rope() keeps norms and makes dot products depend on the distance only.
#include <rapt/embedding.hpp>

#include <algorithm>
#include <cmath>

#include "property.hpp"

using namespace rapt;
using rapt::test::property;

namespace {

// Rounding to nearest: a relative error of at most u.
template <class T>
constexpr long double u = std::is_same_v<T, float> ? 0x1p-24L : 0x1p-53L;

template <class T>
std::vector<T> random_row(std::ptrdiff_t head_dim) {
  const auto integers = *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(head_dim),
                                                              rc::gen::inRange(-1000, 1001));
  std::vector<T> row;
  for (const int i : integers) row.push_back(static_cast<T>(i) / T(7));
  return row;
}

template <class T>
std::vector<T> rotated(const std::vector<T>& row, std::int64_t position, const RopeOptions& options) {
  std::vector<T> out(row.size());
  rope(contiguous(row.data(), {1, 1, 1, std::ssize(row)}), contiguous<const std::int64_t>(&position, {1}),
       contiguous(out.data(), {1, 1, 1, std::ssize(row)}), options);
  return out;
}

template <class T>
long double dot(const std::vector<T>& a, const std::vector<T>& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<long double>(a[i]) * b[i];
  return sum;
}

template <class T>
long double norm(const std::vector<T>& a) {
  return std::sqrt(dot(a, a));
}

struct RopeCase {
  std::ptrdiff_t head_dim = 2 * *rc::gen::inRange<std::ptrdiff_t>(1, 70);
  RopeOptions options{.base = *rc::gen::element(1.0, 100.0, 10000.0, 1e6),
                      .interleaved = *rc::gen::arbitrary<bool>()};
};

// A cosine or sine is within 2 u of exact (its own rounding and the angle's); with the three roundings of
// x0 c - x1 s a component is within 4 u (|x0 c| + |x1 s|), so by Cauchy a row is within 4 sqrt(2) u of its
// norm.
constexpr long double row_error = 6;

template <class T>
void norms_are_kept() {
  const RopeCase at;
  const auto x = random_row<T>(at.head_dim);
  const auto position = *rc::gen::inRange<std::int64_t>(-(std::int64_t{1} << 40), std::int64_t{1} << 40);
  RC_ASSERT(std::fabs(norm(rotated(x, position, at.options)) - norm(x)) <= row_error * u<T> * norm(x));
}

// Two rotated rows are each within row_error u of exact, and so is the same pair elsewhere: four such errors.
template <class T>
void only_the_distance_counts() {
  const RopeCase at;
  const auto q = random_row<T>(at.head_dim);
  const auto k = random_row<T>(at.head_dim);
  const auto distance = *rc::gen::inRange<std::int64_t>(-4096, 4097);
  const auto here = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 20);
  const auto there = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 39);
  const auto score = [&](std::int64_t p) {
    return dot(rotated(q, p + distance, at.options), rotated(k, p, at.options));
  };
  const long double bound = (4 * row_error + 1) * u<T> * norm(q) * norm(k);
  RC_ASSERT(std::fabs(score(here) - score(there)) <= bound);
}

}  // namespace

TEST_CASE("G21 the sinusoidal position 0 is exactly 0, 1, 0, 1, ...") {
  property("for every width", [] {
    const auto hidden_dim = *rc::gen::inRange<std::ptrdiff_t>(1, 200);
    for (std::ptrdiff_t dim = 0; dim < hidden_dim; ++dim) {
      RC_ASSERT(sinusoidal(0, dim, hidden_dim) == (dim % 2 == 0 ? 0.0F : 1.0F));
    }
  });
}

// With w the frequency: the float angle at p is within u p w of p w, so the angles of pos + k and of the
// rotated pos differ by at most u (2 pos + k) w; each of the four table values is rounded once (u / 2 for
// values up to 1), which gives at most (1 + sqrt(2)) u / 2; the double operations add far less than the
// remaining 0.7 u.
TEST_CASE("G21 PE(pos + k) is PE(pos) rotated by k times the frequency") {
  property("within a derived bound", [] {
    const auto hidden_dim = *rc::gen::inRange<std::ptrdiff_t>(2, 130);
    const auto pos = *rc::gen::inRange<std::int64_t>(0, 5000);
    const auto k = *rc::gen::inRange<std::int64_t>(0, 5000);
    for (std::ptrdiff_t dim = 0; dim + 1 < hidden_dim; dim += 2) {
      const long double w =
          1 / std::pow(10000.0L, static_cast<long double>(dim) / static_cast<long double>(hidden_dim));
      const long double c = std::cos(static_cast<long double>(k) * w);
      const long double s = std::sin(static_cast<long double>(k) * w);
      const long double sine = sinusoidal(pos, dim, hidden_dim);
      const long double cosine = sinusoidal(pos, dim + 1, hidden_dim);
      const long double bound = u<float> * (static_cast<long double>(2 * pos + k) * w + 2);
      RC_ASSERT(std::fabs(sinusoidal(pos + k, dim, hidden_dim) - (sine * c + cosine * s)) <= bound);
      RC_ASSERT(std::fabs(sinusoidal(pos + k, dim + 1, hidden_dim) - (cosine * c - sine * s)) <= bound);
    }
  });
}

TEST_CASE("G21 one-hot rows are orthonormal, and words sorted by unsigned bytes") {
  property("for any words", [] {
    const auto words = *rc::gen::arbitrary<std::vector<std::string>>();
    const std::vector<std::string_view> views(words.begin(), words.end());
    const OneHotTable table(views);
    const auto by_unsigned_bytes = [](const std::string& a, const std::string& b) {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
      });
    };
    for (std::size_t i = 1; i < table.words().size(); ++i) {
      RC_ASSERT(by_unsigned_bytes(table.words()[i - 1], table.words()[i]));  // strict: no word twice
    }
    for (const std::string& word : words) {
      RC_ASSERT(table.words()[static_cast<std::size_t>(table.index_of(word))] == word);
    }

    const std::ptrdiff_t n = table.size();
    std::vector<double> vectors(static_cast<std::size_t>(n * n));
    const View<double, 2> rows = contiguous(vectors.data(), {n, n});
    table.vectors(rows);
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        double product = 0;
        for (std::ptrdiff_t column = 0; column < n; ++column) product += rows(i, column) * rows(j, column);
        RC_ASSERT(product == (i == j ? 1.0 : 0.0));
      }
    }
  });
}

TEST_CASE("G21 rope keeps the norm of every row") {
  property("f32", norms_are_kept<float>);
  property("f64", norms_are_kept<double>);
}

TEST_CASE("G21 dot products of rotated rows depend on the distance only") {
  property("f32", only_the_distance_counts<float>);
  property("f64", only_the_distance_counts<double>);
}
