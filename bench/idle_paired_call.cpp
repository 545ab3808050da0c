// A build whose calls do nothing: compare_builds must say that its bits are different.
#include "paired_call.hpp"

extern "C" __attribute__((visibility("default"))) rapt::bench::PairedCall rapt_paired_call() {
  return {.make = [](const rapt::bench::PairedProblem&) -> void* {
            static char call;
            return &call;
          },
          .run = [](void*) {},
          .drop = [](void*) {}};
}
