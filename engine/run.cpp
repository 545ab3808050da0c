#include "run.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "float_mode.hpp"

namespace rapt {
namespace {

// An idle worker takes 25 to 35 us to wake, and a core does some 40 to 150 flop a nanosecond: below this a
// second thread loses time.
constexpr double serial_flop = 4e6;

// The workers of TBB do not come along into a child of fork(), and its locks come in any state: once a
// process has computed in parallel, its children compute serially.
bool has_workers() noexcept {
  static const pid_t home = getpid();
  return getpid() == home;
}

}  // namespace

std::ptrdiff_t worker_slots(std::ptrdiff_t items, double flop) noexcept {
  if (items < 2 || flop < serial_flop || !has_workers()) return 1;
  return std::clamp<std::ptrdiff_t>(tbb::this_task_arena::max_concurrency(), 1, items);
}

void detail::run_items(std::ptrdiff_t items, std::ptrdiff_t slots,
                       void (*body)(void*, std::ptrdiff_t, std::ptrdiff_t), void* self) {
  // The caller's own context may be cancelled, by an exception in another of its tasks too, and the tasks in
  // it are then dropped: a call that has begun is done whole.
  tbb::task_group_context context(tbb::task_group_context::isolated);
  // One task a slot, each taking the next item: items keep their order and a slow worker takes fewer of them.
  // Its first store and last load order tasks and caller once more: ThreadSanitizer, to which oneTBB is a
  // black box, sees that only.
  std::atomic<std::ptrdiff_t> next;
  next.store(0, std::memory_order_release);
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::ptrdiff_t>(0, slots, 1),
        [&](const tbb::blocked_range<std::ptrdiff_t>& range) {
          const StandardFloatMode mode;  // TBB gives a task the mode of its arena
          for (std::ptrdiff_t slot = range.begin(); slot < range.end(); ++slot) {
            for (std::ptrdiff_t item = next++; item < items; item = next++) body(self, slot, item);
          }
        },
        tbb::simple_partitioner(), context);
  });
  static_cast<void>(next.load(std::memory_order_acquire));
}

}  // namespace rapt
