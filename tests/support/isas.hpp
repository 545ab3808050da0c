// Visits every compiled ISA.
#pragma once

#include <string>

#include "dispatch.hpp"

namespace rapt::test {

/// Calls function(isa) once for each compiled ISA that can run here, with that ISA active. Of the others it
/// says once a process, on stderr, `NAME: compiled, not run`.
template <class Function>
void for_each_isa(Function function);

void say_not_run(const Isa& isa);

template <class Function>
void for_each_isa(Function function) {
  for (const Isa& isa : compiled_isas()) {
    if (!isa.runnable) {
      say_not_run(isa);
      continue;
    }
    const ScopedIsa scope(*isa.table);
    function(isa);
  }
}

}  // namespace rapt::test
