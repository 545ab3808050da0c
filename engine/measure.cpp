#include "measure.hpp"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <future>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "dispatch.hpp"

namespace rapt::measure {
namespace {

double seconds_of(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds that body(thread) takes on all threads at once: CPU time for one, else from the common start to the
// last end. Throws std::system_error where a thread cannot be started.
template <class Body>
double time_together(int threads, const Body& body) {
  if (threads == 1) {
    const double start = thread_cpu_seconds();
    body(0);
    return thread_cpu_seconds() - start;
  }
  double start = 0, end = 0;
  std::barrier ready(threads, [&]() noexcept { start = wall_seconds(); });
  std::barrier done(threads, [&]() noexcept { end = wall_seconds(); });
  std::promise<bool> all_there;
  const std::shared_future<bool> work = all_there.get_future().share();
  std::vector<std::jthread> team;
  team.reserve(static_cast<std::size_t>(threads));
  try {
    for (int thread = 0; thread < threads; ++thread) {
      team.emplace_back([&, thread] {
        if (!work.get()) return;
        ready.arrive_and_wait();
        body(thread);
        done.arrive_and_wait();
      });
    }
  } catch (...) {  // the barriers would wait for the thread that could not be started
    all_there.set_value(false);
    throw;
  }
  all_there.set_value(true);
  team.clear();
  return end - start;
}

// Pages of the array are asked to be huge: with small ones the reads wait for address translation instead of
// memory.
struct Unmap {
  std::size_t bytes;
  void operator()(std::uint64_t* words) const noexcept { munmap(words, bytes); }
};
using Mapping = std::unique_ptr<std::uint64_t[], Unmap>;

Mapping map_words(std::size_t bytes) {
  void* words = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (words == MAP_FAILED) throw std::bad_alloc();
  madvise(words, bytes, MADV_HUGEPAGE);
  return Mapping(static_cast<std::uint64_t*>(words), Unmap{bytes});
}

// The sum of `count` words read as four streams of whole cache lines at a time: as many requests in flight as
// the core can hold.
constexpr std::ptrdiff_t streams = 4;
constexpr std::ptrdiff_t line = 8;
constexpr std::ptrdiff_t ahead = 16 * line;
std::uint64_t read_all(const std::uint64_t* words, std::ptrdiff_t count) noexcept {
  const std::ptrdiff_t part = count / (streams * line) * line;
  std::uint64_t even[streams]{}, odd[streams]{};
  for (std::ptrdiff_t at = 0; at < part; at += line) {
    for (std::ptrdiff_t stream = 0; stream < streams; ++stream) {
      const std::uint64_t* from = words + stream * part + at;
      __builtin_prefetch(from + ahead);
      even[stream] += (from[0] + from[2]) + (from[4] + from[6]);
      odd[stream] += (from[1] + from[3]) + (from[5] + from[7]);
    }
  }
  std::uint64_t total = 0;
  for (std::ptrdiff_t stream = 0; stream < streams; ++stream) total += even[stream] + odd[stream];
  return total;
}

}  // namespace

double thread_cpu_seconds() noexcept { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double wall_seconds() noexcept { return seconds_of(CLOCK_MONOTONIC); }

template <class T>
double fma_peak(int threads, double seconds) {
  const auto loop = active_kernels().template of<T>().fma_peak;
  std::ptrdiff_t iterations = 1 << 12;
  for (double taken = 0; taken < seconds / 8 && iterations < (std::ptrdiff_t{1} << 40);) {
    iterations *= 2;
    taken = time_together(1, [&](int) { loop(iterations); });
  }
  std::atomic<std::ptrdiff_t> flop{0};
  double taken = 0;
  for (int round = 0; round < 4; ++round) {
    taken += time_together(threads, [&](int) { flop += loop(iterations); });
  }
  return static_cast<double>(flop) / taken;
}
template double fma_peak<float>(int, double);
template double fma_peak<double>(int, double);

double read_bandwidth(std::ptrdiff_t bytes, int threads, double seconds) {
  const std::ptrdiff_t words =
      std::max<std::ptrdiff_t>(bytes / 8 / threads / (streams * line), 1) * streams * line;
  const Mapping array = map_words(static_cast<std::size_t>(words * threads) * 8);
  std::atomic<std::uint64_t> sink{0};
  const auto own = [&](int thread) { return array.get() + thread * words; };
  time_together(threads, [&](int thread) { std::fill_n(own(thread), words, std::uint64_t{1}); });

  // A pass long enough to time, then passes until the time is up.
  std::ptrdiff_t repeats = 1;
  const auto pass = [&](int thread) {
    for (std::ptrdiff_t i = 0; i < repeats; ++i) {
      asm volatile("" ::: "memory");  // else one read would do for all repeats
      sink += read_all(own(thread), words);
    }
  };
  while (time_together(threads, pass) < 1e-3) repeats *= 2;
  double best = 0, spent = 0;
  for (int passes = 0; passes < 3 || spent < seconds; ++passes) {
    const double taken = time_together(threads, pass);
    spent += taken;
    best = std::max(best, static_cast<double>(repeats * words * threads) * 8 / taken);
  }
  return best;
}

std::ptrdiff_t beyond_caches() noexcept {
  const std::ptrdiff_t cache = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  return std::max<std::ptrdiff_t>(2 * cache, std::ptrdiff_t{256} << 20);
}

}  // namespace rapt::measure
