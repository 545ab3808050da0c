// A given number of threads for a test: an arena of n, leave for TBB to have as many, and proof that they are
// there.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace rapt::test {

/// Returns when n distinct threads have met in the calling thread's arena. Throws std::runtime_error after 20
/// seconds.
void meet(int n);

/// Runs function() in a fresh arena of n threads, all of which have come to it before. Without the
/// global_control TBB would silently use as many threads as there are cores.
template <class Function>
void with_threads(int n, Function function) {
  const std::size_t allowed =
      std::max<std::size_t>(static_cast<std::size_t>(n), std::thread::hardware_concurrency());
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, allowed);
  tbb::task_arena arena(n);
  arena.execute([&] {
    meet(n);
    function();
  });
}

/// Calls function(i) for each i in [0, n), in tasks of the calling thread's arena.
template <class Function>
void in_tasks(int n, Function function) {
  std::atomic<int> order;  // as in run.cpp: what ThreadSanitizer sees
  order.store(0, std::memory_order_release);
  tbb::parallel_for(0, n, [&](int i) {
    ++order;
    function(i);
    ++order;
  });
  static_cast<void>(order.load(std::memory_order_acquire));
}

}  // namespace rapt::test
