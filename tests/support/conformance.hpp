// Every check that applies to one problem: what replays a failure, and what the fuzzers ask.
#pragma once

#include <string>
#include <vector>

#include "support/run.hpp"

namespace rapt::test {

struct Check {
  std::string name;     ///< of the ISA and of what was compared
  std::string differs;  ///< in words; empty where nothing does
};

/// Whether a KvCache can be given the problem in chunks: square, bottom_right, with none of what a cache
/// lacks.
bool is_cacheable(const Problem& problem);

/// attention() against the scalar definition (without FMA: against its bound), then against itself without
/// by-products, in other layouts, and through a cache one token at a time, on every ISA that runs here.
std::vector<Check> conformance(const Problem& problem);

}  // namespace rapt::test
