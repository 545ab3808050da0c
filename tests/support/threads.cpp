// The meeting: n tasks, none of which ends before all have begun, need n threads.
#include "support/threads.hpp"

#include <oneapi/tbb/task_group.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace rapt::test {

void meet(int n) {
  std::mutex mutex;
  std::condition_variable all_here;
  int arrived = 0;
  bool late = false;
  tbb::task_group group;
  for (int task = 0; task < n; ++task) {
    group.run([&] {
      std::unique_lock lock(mutex);
      if (++arrived == n) all_here.notify_all();
      // In slices: a process that is stopped for a while loses one of them, not its patience.
      for (int slice = 0; arrived < n && slice < 200; ++slice)
        all_here.wait_for(lock, std::chrono::milliseconds(100), [&] { return arrived >= n; });
      late |= arrived < n;
    });
  }
  group.wait();
  if (late) throw std::runtime_error("fewer threads than asked for came to the arena");
}

}  // namespace rapt::test
