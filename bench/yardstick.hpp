// How a case is timed, and what its counters mean: bench/README.md.
#pragma once

#include <benchmark/benchmark.h>

#include "case.hpp"

namespace rapt::bench {

/// Times the case in an arena of shape.threads and fills in the counters.
void time_case(benchmark::State& state, Case& subject, const Shape& shape);

}  // namespace rapt::bench
