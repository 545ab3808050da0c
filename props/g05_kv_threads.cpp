// G05 over the cache: any number of threads, any arena, any run. Each size is the least that is still split.
#include "generators.hpp"
#include "support/kv_gen.hpp"
#include "support/threads.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

struct Schedule {
  Problem problem;
  Chunks chunks;
};

// A prefill of several row blocks, then steps.
Schedule prefill(Problem problem) {
  problem.q_len = problem.kv_len = *rc::gen::inRange<std::ptrdiff_t>(200, 400);
  return {problem, {problem.q_len - 40, 30, 3, 1, 6}};
}

// Steps over a context of more than four blocks whose bytes are worth a second thread, one step at a time.
Schedule decode(Problem problem) {
  const std::ptrdiff_t context = problem.dtype == Dtype::f64   ? 1100
                                 : problem.dtype == Dtype::f32 ? 1350
                                                               : 2650;
  problem.q_len = 9;
  problem.kv_len = context + *rc::gen::inRange<std::ptrdiff_t>(0, 260);
  return {problem, {1, 5, 1, 2}};
}

rc::Gen<Schedule> schedules() {
  return rc::gen::exec([] {
    Problem problem = *cacheable_problems();
    problem.batch = 1;
    problem.n_kv_heads = 2;
    problem.n_heads = *rc::gen::element<std::ptrdiff_t>(2, 4, 8);
    problem.head_dim = problem.v_dim = 64;
    return *rc::gen::arbitrary<bool>() ? prefill(problem) : decode(problem);
  });
}

void showValue(const Schedule& schedule, std::ostream& out) { out << format(schedule.problem); }

}  // namespace

TEST_CASE("G05 any number of threads gives a cache's prefill and its decode steps the same bits") {
  property("1 to 8 threads", [] {
    const Schedule schedule = *schedules();
    const Data data = make_data(schedule.problem);
    const std::ptrdiff_t capacity = data.problem.window.value_or(data.problem.kv_len);
    const Call call{.rope = *rc::gen::arbitrary<bool>()};
    const int threads = *rc::gen::inRange(2, 9);
    std::vector<Answer> serial;
    with_threads(1, [&] {
      for_each_isa([&](const Isa&) { serial.push_back(run_cached(data, schedule.chunks, capacity, call)); });
    });
    with_threads(threads, [&] {
      auto expected = serial.begin();
      for_each_isa([&](const Isa& isa) {
        require_same(isa, data, difference(*expected++, run_cached(data, schedule.chunks, capacity, call)));
      });
    });
  });
}
