// The packed product against sums in long double: every ISA, both arithmetics, any strides, blocks and their
// edges.
#include "gemm.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "reference/gemm_long_double.hpp"
#include "support/fill.hpp"
#include "support/isas.hpp"

using namespace rapt;
using rapt::test::for_each_isa;

namespace {

enum class Order { rows, columns, backwards, gaps, pages };

/// A matrix in its own memory, its elements in a given order; what lies between them is `between`.
template <class T>
class Matrix {
 public:
  static constexpr T between = T(-77);

  Matrix(Size rows, Size columns, Order order) {
    constexpr Size page = 4096 / static_cast<Size>(sizeof(T));
    std::array<Size, 2> strides{columns, 1};
    if (order == Order::columns) strides = {1, rows};
    if (order == Order::gaps) strides = {2 * columns + 3, 2};
    if (order == Order::pages) strides = {(columns + page - 1) / page * page, 1};
    const Size most = std::max<Size>(rows, 1) * strides[0] + std::max<Size>(columns, 1) * strides[1];
    memory_.assign(static_cast<std::size_t>(most), between);
    T* first = memory_.data();
    if (order == Order::backwards) {
      strides = {-strides[0], -strides[1]};
      first += most - 1;
    }
    view_ = {first, {rows, columns}, strides};
  }

  void fill(std::uint64_t stream) {
    std::uint64_t index = 0;
    for (Size r = 0; r < view_.extents[0]; ++r)
      for (Size j = 0; j < view_.extents[1]; ++j)
        view_(r, j) = static_cast<T>(test::random_unit(1, stream, index++));
  }
  const View<T, 2>& view() const { return view_; }
  View<const T, 2> read_only() const { return {view_.data, view_.extents, view_.strides}; }
  Size touched() const {
    return std::count_if(memory_.begin(), memory_.end(), [](T x) { return x != between; });
  }

 private:
  std::vector<T> memory_;
  View<T, 2> view_{};
};

/// How far one element may be off, by its sum of |a b|. Each term is rounded at most `steps` times on its way
/// into the chain: fused, by the fma that adds it and those behind it; apart, by its product and the
/// additions behind, of which the first, to +0, is exact. Hence steps u / (1 - steps u) (Higham, Accuracy and
/// Stability of Numerical Algorithms, 2nd ed., 3.1), and the same for the reference, which rounds products
/// and sums.
template <class T>
long double allowed_share(Size steps) {
  const auto gamma = [](long double roundings, long double u) { return roundings * u / (1 - roundings * u); };
  const long double n = static_cast<long double>(steps);
  return gamma(n, static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2) +
         2 * gamma(n + 1, std::numeric_limits<long double>::epsilon() / 2);
}

struct Shape {
  Size rows, columns, steps;
  Order a, b, c;
};

}  // namespace

TEMPLATE_TEST_CASE("a product is within steps u sum|a b| of the exact sum, whatever the strides", "", float,
                   double) {
  using enum Order;
  for (const Shape& shape :
       {Shape{1, 1, 1, rows, rows, rows}, Shape{5, 33, 0, rows, rows, rows},
        Shape{64, 64, 64, rows, rows, rows}, Shape{8, 130, 70, pages, columns, gaps},
        Shape{97, 31, 65, columns, gaps, backwards}, Shape{13, 129, 1025, pages, rows, pages},
        Shape{101, 515, 33, gaps, backwards, columns}, Shape{9, 47, 2500, backwards, columns, rows}}) {
    INFO(shape.rows << " x " << shape.columns << " x " << shape.steps);
    Matrix<TestType> a(shape.rows, shape.steps, shape.a), b(shape.steps, shape.columns, shape.b);
    a.fill(1), b.fill(2);
    const reference::LongDoubleProduct exact =
        reference::gemm_long_double<TestType>(a.read_only(), b.read_only());
    const long double share = allowed_share<TestType>(shape.steps);
    for_each_isa([&](const Isa& isa) {
      for (const Arithmetic arithmetic : {Arithmetic::fused, Arithmetic::textbook}) {
        INFO(isa.table->name << (arithmetic == Arithmetic::fused ? ", fused" : ", textbook"));
        Matrix<TestType> c(shape.rows, shape.columns, shape.c);
        gemm<TestType>(arithmetic, a.read_only(), b.read_only(), c.view());
        std::size_t at = 0;
        for (Size r = 0; r < shape.rows; ++r) {
          for (Size j = 0; j < shape.columns; ++j, ++at) {
            const long double error = std::abs(static_cast<long double>(c.view()(r, j)) - exact.sum[at]);
            if (!(error <= share * exact.magnitude[at]))
              FAIL("row " << r << ", column " << j << ": off by " << error);
          }
        }
        CHECK(c.touched() == shape.rows * shape.columns);
      }
    });
  }
}

TEST_CASE("the bound of a product is one that a lost term breaks") {
  // One term of 64 missing is off by about 1/64 of sum|a b|, the bound 64 u of it.
  Matrix<float> a(4, 64, Order::rows), b(64, 16, Order::rows);
  a.fill(1), b.fill(2);
  const auto exact = reference::gemm_long_double<float>(a.read_only(), b.read_only());
  for (Size r = 0; r < 4; ++r) a.view()(r, 63) = 0;
  Matrix<float> c(4, 16, Order::rows);
  gemm<float>(Arithmetic::fused, a.read_only(), b.read_only(), c.view());
  for (std::size_t at = 0; at < exact.sum.size(); ++at) {
    const long double is =
        static_cast<long double>(c.view()(static_cast<Size>(at) / 16, static_cast<Size>(at) % 16));
    CHECK(std::abs(is - exact.sum[at]) > allowed_share<float>(64) * exact.magnitude[at]);
  }
}
