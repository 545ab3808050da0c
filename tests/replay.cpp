// rapt_replay PROBLEM...: runs every check that applies to a problem, as a failing property printed it, and
// says what differs. Exit status 1 when anything does, 2 when a string is no problem.
#include <rapt/error.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>

#include "support/conformance.hpp"

using namespace rapt::test;

namespace {

int replay(const char* text) {
  int failures = 0;
  std::printf("%s\n", text);
  for (const Check& check : conformance(parse_problem(text))) {
    std::printf("  %-40s %s\n", check.name.c_str(), check.differs.empty() ? "same" : check.differs.c_str());
    failures += check.differs.empty() ? 0 : 1;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2)
    throw std::invalid_argument(
        "usage: rapt_replay PROBLEM... (the grammar is in tests/support/problem.hpp)");
  int status = 0;
  for (int i = 1; i < argc; ++i) status |= replay(argv[i]);
  return status;
} catch (const std::exception& error) {
  std::fprintf(stderr, "rapt_replay: %s\n", error.what());
  return 2;
}
