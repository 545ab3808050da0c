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
      late |= !all_here.wait_for(lock, std::chrono::seconds(20), [&] { return arrived >= n; });
    });
  }
  group.wait();
  if (late) throw std::runtime_error("fewer threads than asked for came to the arena");
}

}  // namespace rapt::test
