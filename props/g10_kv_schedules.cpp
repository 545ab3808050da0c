// G10: after any schedule of appends, attends, queries, rollbacks, clears and copies, a cache's answers are
// those of the definition over the whole history: the ring equals an unbounded cache with the same window.
#include "property.hpp"
#include "support/isas.hpp"
#include "support/kv_gen.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

void check_schedules(KvDtype dtype) {
  property("on every ISA", [=] {
    const KvSetting setting = *gen::kv_setting(dtype);
    const std::vector<KvOperation> operations = *gen::kv_schedule();
    RC_CLASSIFY(setting.window.has_value(), "with a window");
    RC_CLASSIFY(setting.batch > 1, "several sequences");
    for_each_isa([&](const Isa& isa) {
      const std::string wrong = run_schedule(setting, operations, isa.has_fma);
      if (!wrong.empty()) RC_FAIL(std::string(isa.table->name) + ": " + wrong);
    });
  });
}

}  // namespace

TEST_CASE("G10 any schedule on an f32 cache gives the bits of the definition over the whole history") {
  check_schedules(KvDtype::f32);
}
TEST_CASE("G10 any schedule on an f64 cache gives the bits of the definition over the whole history") {
  check_schedules(KvDtype::f64);
}
TEST_CASE("G10 any schedule on a bf16 cache gives the bits of the definition over the whole history") {
  check_schedules(KvDtype::bf16);
}
TEST_CASE("G10 any schedule on an f16 cache gives the bits of the definition over the whole history") {
  check_schedules(KvDtype::f16);
}
