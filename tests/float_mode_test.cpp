// Whatever floating-point mode the caller is in: the same bits, and the mode is what it was.
#include "float_mode.hpp"

#include <catch2/catch.hpp>

#include "support/everything.hpp"
#include "support/float_modes.hpp"
#include "support/threads.hpp"

using namespace rapt::test;

namespace {

void check_in(FloatMode wanted, const std::string& expected) {
  std::string found;
  FloatMode after;
  {
    const ScopedFloatMode scope(wanted);
    found = everything();
    after = float_mode();
  }
  CHECK(after == wanted);
  CHECK(found.size() == expected.size());
  CHECK((found == expected));
}

}  // namespace

TEST_CASE("any floating-point mode of the caller gives the same bits, and stays", "[threads]") {
  const std::string expected = everything();
  for (const FloatMode wanted : unusual_modes) {
    CAPTURE(wanted);
    check_in(wanted, expected);
    with_threads(2, [&] { check_in(wanted, expected); });
  }
}

TEST_CASE("the mode can be told by its results: without the guard they differ") {
  float doubled;
  {
    const ScopedFloatMode scope(standard_mode | flush);
    volatile float subnormal = 1e-40F;
    doubled = subnormal * 2;
  }
  CHECK(doubled == 0.0F);
}
