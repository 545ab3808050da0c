// The note about ISAs that this machine cannot run.
#include "support/isas.hpp"

#include <iostream>
#include <set>

namespace rapt::test {

void say_not_run(const Isa& isa) {
  static std::set<std::string> said;
  if (said.insert(isa.table->name).second) std::cerr << isa.table->name << ": compiled, not run\n";
}

}  // namespace rapt::test
