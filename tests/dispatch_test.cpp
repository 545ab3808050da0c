#include "dispatch.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "rapt/info.hpp"

using namespace rapt;

TEST_CASE("the best runnable ISA comes first and at least one can run") {
  bool any = false;
  for (const Isa& isa : compiled_isas()) any = any || isa.runnable;
  REQUIRE(any);
}

TEST_CASE("a scoped ISA is active while it lives and then the former one again") {
  const std::string before = isa();
  for (const Isa& each : compiled_isas()) {
    ScopedIsa scope(*each.table);
    CHECK(std::string(isa()) == each.table->name);
  }
  CHECK(isa() == before);
}
