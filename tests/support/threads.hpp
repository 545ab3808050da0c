// A given number of threads for a test: an arena of n, and leave for TBB to have as many.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <thread>

namespace rapt::test {

/// Runs function() in a fresh arena of n threads. Without the global_control TBB would silently use the
/// cores.
template <class Function>
void with_threads(int n, Function function) {
  const std::size_t allowed =
      std::max<std::size_t>(static_cast<std::size_t>(n), std::thread::hardware_concurrency());
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, allowed);
  tbb::task_arena arena(n);
  arena.execute(function);
}

}  // namespace rapt::test
