// rapt inside loops, arenas and locks of the program that calls it.
#include <rapt/attention.hpp>

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>
#include <catch2/catch.hpp>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <vector>

#include "support/everything.hpp"
#include "support/threads.hpp"

using namespace rapt;
using rapt::test::everything;
using rapt::test::in_tasks;
using rapt::test::with_threads;

namespace {

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

}  // namespace

TEST_CASE("in a loop of the caller, in an arena in an arena: the same bits, and no further threads",
          "[threads]") {
  const std::string expected = everything();
  with_threads(3, [&] {
    const std::ptrdiff_t before = threads_of_this_process();
    std::atomic<int> equal = 0;
    in_tasks(8, [&](int) { equal += everything() == expected ? 1 : 0; });
    tbb::task_arena(2).execute([&] { in_tasks(2, [&](int) { equal += everything() == expected ? 1 : 0; }); });
    CHECK(equal == 10);
    CHECK(threads_of_this_process() <= before);
  });
}

TEST_CASE("a call runs no other work of the caller, who may hold a lock or be in the middle of something",
          "[threads]") {
  thread_local bool busy = false;
  std::mutex mutex;
  std::atomic<int> interrupted = 0, calls = 0;
  with_threads(4, [&] {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, 64, 1),
        [&](const tbb::blocked_range<int>& range) {
          interrupted += busy ? 1 : 0;
          busy = true;
          if (range.begin() % 16 == 0) {  // with a lock: taken twice by one thread, this would not end
            const std::lock_guard lock(mutex);
            calls += everything().empty() ? 0 : 1;
          }
          busy = false;
        },
        tbb::simple_partitioner());
  });
  CHECK(calls == 4);
  CHECK(interrupted == 0);
}

TEST_CASE("a call in a task of the caller that is cancelled is done whole", "[threads]") {
  const std::string expected = everything();
  with_threads(3, [&] {
    tbb::task_group_context cancelled;
    std::string answer;
    tbb::parallel_for(
        0, 1,
        [&](int) {
          cancelled.cancel_group_execution();
          answer = everything();
        },
        cancelled);
    CHECK(answer == expected);
  });
}
