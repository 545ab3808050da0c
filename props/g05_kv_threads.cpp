// G05 over the cache: any number of threads, any arena, any run. Contexts are large enough to be split.
#include "generators.hpp"
#include "support/kv_gen.hpp"
#include "support/threads.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G05 any number of threads gives a cache's prefill and its decode steps the same bits") {
  rc::prop("1 to 8 threads", [] {
    Problem problem = *cacheable_problems();
    problem.batch = 1;
    problem.n_kv_heads = 2;
    problem.n_heads = *rc::gen::element<std::ptrdiff_t>(2, 8);
    problem.head_dim = problem.v_dim = 64;
    problem.q_len = problem.kv_len = *rc::gen::inRange<std::ptrdiff_t>(1300, 1600);
    const Data data = make_data(problem);
    const Chunks chunks{problem.kv_len - 40, 30, 3, 1, 6};
    const int threads = *rc::gen::inRange(2, 9);
    for_each_isa([&](const Isa& isa) {
      std::optional<Answer> serial;
      with_threads(1, [&] { serial = run_cached(data, chunks, problem.window.value_or(problem.kv_len)); });
      with_threads(threads, [&] {
        require_same(isa, data,
                     difference(*serial, run_cached(data, chunks, problem.window.value_or(problem.kv_len))));
      });
    });
  });
}
