// The verdict of rapt profile, on made-up measurements whose cause is known.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "profile_fit.hpp"

using namespace rapt::cli;
using Catch::Contains;
using Catch::Matchers::StartsWith;

namespace {

const std::vector<DataCache> caches{{"L1 Data 32K", "L1", 32 << 10}, {"L2 Unified 1024K", "L2", 1 << 20}};

/// Sizes 64 to 4096, `bytes` an element of the size, size^2 operations that take seconds(size, operations).
std::vector<Point> points(std::ptrdiff_t bytes, const std::function<double(double, double)>& seconds) {
  std::vector<Point> all;
  for (std::ptrdiff_t size = 64; size <= 4096; size *= 2) {
    const auto operations = static_cast<double>(size * size);
    all.push_back({size, seconds(static_cast<double>(size), operations), size * size, size * bytes});
  }
  return all;
}

std::string verdict_of(const std::vector<Point>& all) { return verdict(all, "n", caches); }

}  // namespace

TEST_CASE("a stage whose time follows its operations agrees, within 0.15") {
  const auto exact = points(1, [](double, double operations) { return 1e-9 * operations; });
  const Growth growth = growth_of(exact);
  CHECK(growth.first == 3);
  CHECK(growth.predicted == Approx(2));
  CHECK(growth.measured.exponent == Approx(2));
  CHECK(growth.measured.factor == Approx(1e-9));
  CHECK(std::abs(growth.measured.spread) < 1e-6);
  CHECK(verdict_of(exact) == "agrees");
  CHECK(verdict_of(points(1, [](double n, double o) { return o * std::pow(n, 0.14); })) == "agrees");
  CHECK(verdict_of(points(1, [](double n, double o) { return o * std::pow(n, -0.14); })) == "agrees");
}

TEST_CASE("a cache is named when operations cost more beyond it, and only then") {
  const auto dearer_beyond = [](double bytes) {
    return points(512, [=](double n, double o) { return o * (n * 512 > bytes ? 3e-9 : 1e-9); });
  };
  // Up to 2048 x 512 bytes fit the L2 of 1 MiB: one point of seven lies beyond it.
  CHECK(verdict_of(dearer_beyond(1 << 20)) ==
        "faster growth: 2.0 MiB at the end, beyond the L2 of 1.0 MiB, where an operation costs 3.0 x");
  // The same times where all fits the L1: no cache has to do with it.
  CHECK_THAT(verdict_of(points(1, [](double n, double o) { return o * (n > 2048 ? 3e-9 : 1e-9); })),
             !Contains("beyond the"));
  CHECK(verdict_of(points(1, [](double n, double o) { return o * n; })) ==
        "faster growth: an operation costs 8.0 x at the end of what it does at n = 512");
}

TEST_CASE("the part of the time that grows less is told") {
  // At 512 there are 2^18 operations, and four times that time stays.
  CHECK(verdict_of(points(1, [](double, double o) { return o + 0x1p20; })) ==
        "slower growth: at n = 512, 80 % of the time is in costs that grow less");
}

TEST_CASE("points that scatter are told to, not explained") {
  int turn = 0;
  CHECK_THAT(
      verdict_of(points(1, [&](double n, double o) { return o * std::pow(n, 0.3) * (++turn % 2 ? 3 : 1); })),
      StartsWith("unclear: the points scatter"));
}
