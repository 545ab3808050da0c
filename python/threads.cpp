#include "threads.hpp"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <unistd.h>
#include <rapt/error.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace rapt::python {
namespace {

// TBB gives an arena of n threads only the cores there are unless a global_control allows more, and the
// smallest control alive wins. So there is one, for the largest n in use, and it never allows less than TBB's
// own number.
class AllowedThreads {
 public:
  void add(int n) {
    const std::lock_guard lock(mutex_);
    in_use_.insert(n);
    update();
  }
  void remove(int n) {
    const std::lock_guard lock(mutex_);
    in_use_.erase(in_use_.find(n));
    update();
  }

 private:
  void update() {
    const int largest = in_use_.empty() ? 0 : *in_use_.rbegin();
    if (largest == allowed_) return;
    allowed_ = largest;
    control_.reset();
    if (largest > tbb::info::default_concurrency()) {
      control_ = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                       static_cast<std::size_t>(largest));
    }
  }

  std::mutex mutex_;
  std::multiset<int> in_use_;
  int allowed_ = 0;
  std::unique_ptr<tbb::global_control> control_;
};

AllowedThreads& allowed_threads() {
  static AllowedThreads allowed;
  return allowed;
}

struct Entered {
  const Threads* owner;
  int n;
  pid_t process;
  std::unique_ptr<tbb::task_arena> arena;  // empty in a child of fork()
};

thread_local std::vector<Entered> entered;

// The process that imported the module. TBB's workers do not come along into a child of fork(), and neither
// do its locks in a known state: a child does not touch it, and engine/run.cpp computes serially there.
const pid_t home_process = getpid();

}  // namespace

Threads::Threads(std::ptrdiff_t n) : n_(static_cast<int>(n)) {
  // Beyond, the system refuses threads while TBB makes them, and TBB does not recover.
  constexpr int most = 1024;
  if (n < 1 || n > most)
    throw invalid_input("threads: n is " + std::to_string(n) + ", expected 1 to " + std::to_string(most));
}

Threads::~Threads() = default;

void Threads::enter() {
  Entered scope{this, n_, getpid(), nullptr};
  if (scope.process == home_process) {
    allowed_threads().add(n_);
    scope.arena = std::make_unique<tbb::task_arena>(n_);
  }
  entered.push_back(std::move(scope));
}

void Threads::exit() {
  if (entered.empty() || entered.back().owner != this) {
    throw std::runtime_error(
        "threads: left in another order or by another Python thread than it was entered");
  }
  Entered scope = std::move(entered.back());
  entered.pop_back();
  if (scope.arena == nullptr) return;
  if (scope.process != getpid()) {
    static_cast<void>(scope.arena.release());  // the parent's arena: its workers are not here to be told
    return;
  }
  scope.arena.reset();
  allowed_threads().remove(scope.n);
}

void detail::run_in_arena(void (*body)(void*), void* self) {
  if (entered.empty() || entered.back().arena == nullptr || entered.back().process != getpid()) {
    body(self);
    return;
  }
  entered.back().arena->execute([&] { body(self); });
}

}  // namespace rapt::python
