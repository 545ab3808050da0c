// G05: any number of threads, any arena, any floating-point mode, any run. The problems are large enough to
// be split.
#include <oneapi/tbb/parallel_for.h>

#include "generators.hpp"
#include "support/threads.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// Either a prefill or a few decode rows over a long context: a few million flop, enough for several threads.
rc::Gen<Problem> large_problems() {
  return rc::gen::exec([] {
    Problem p = *problems();
    p.dtype = *rc::gen::element(Dtype::f32, Dtype::f64);
    p.batch = 1;
    p.n_kv_heads = 2;
    p.n_heads = 4;
    p.head_dim = p.v_dim = 64;
    p.q_len = *rc::gen::element<std::ptrdiff_t>(1, 4, 80, 97, 160);
    const std::ptrdiff_t pairs = *rc::gen::inRange<std::ptrdiff_t>(4000, 5000);
    p.kv_len = std::max(p.q_len, pairs / p.q_len);
    return p;
  });
}

}  // namespace

TEST_CASE("G05 any number of threads gives the same bits") {
  rc::prop("1 to 8 threads, and twice", [] {
    const Data data = make_data(*large_problems());
    const int threads = *rc::gen::inRange(2, 9);
    for_each_isa([&](const Isa& isa) {
      std::optional<Answer> serial;
      with_threads(1, [&] { serial = run(data, all_outputs); });
      with_threads(threads, [&] {
        require_same(isa, data, difference(*serial, run(data, all_outputs)));
        require_same(isa, data, difference(*serial, run(data, all_outputs)));
      });
    });
  });
}

TEST_CASE("G05 calls made at the same time from one arena do not disturb each other") {
  rc::prop("four calls in a parallel_for", [] {
    const Data data = make_data(*large_problems());
    for_each_isa([&](const Isa& isa) {
      const Answer alone = run(data, all_outputs);
      std::array<std::string, 4> differences;
      with_threads(3, [&] {
        tbb::parallel_for(std::size_t{0}, differences.size(), [&](std::size_t call) {
          differences[call] = difference(alone, run(data, all_outputs));
        });
      });
      for (const std::string& text : differences) require_same(isa, data, text);
    });
  });
}

TEST_CASE("G05 whatever floating-point mode the caller is in gives the same bits") {
  rc::prop("special values too, flushing, rounding and trapping", [] {
    Problem problem = *problems();
    problem.special = *rc::gen::element<std::uint64_t>(0, 5, 50);
    const Data data = make_data(problem);
    const FloatMode mode = unusual_modes[*rc::gen::inRange<std::size_t>(0, std::size(unusual_modes))];
    for_each_isa([&](const Isa& isa) {
      const std::string differs = difference(run(data, all_outputs), run_in(mode, data, all_outputs));
      require_same(isa, data, differs.empty() ? differs : "in mode " + std::to_string(mode) + ": " + differs);
    });
  });
}
