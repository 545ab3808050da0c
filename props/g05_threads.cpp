// G05: any number of threads, any arena, any floating-point mode, any run. The problems are large enough to
// be split.
#include "generators.hpp"
#include "support/threads.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

struct LargeCall {
  Problem problem;
  Call call;
};

// Of some 4.5 million flop, enough for several threads, under each schedule of plan.hpp: a prefill of a few
// heads, few rows over a long context, many heads; weights and scores asked for, or not.
rc::Gen<LargeCall> large_calls() {
  return rc::gen::exec([] {
    Problem p = *problems();
    p.dtype = *rc::gen::element(Dtype::f32, Dtype::f64);
    p.batch = 1;
    p.n_kv_heads = *rc::gen::element<std::ptrdiff_t>(2, 2, 16);
    p.n_heads = 2 * p.n_kv_heads;
    p.head_dim = p.v_dim = 64;
    p.q_len = p.n_kv_heads == 2 ? *rc::gen::element<std::ptrdiff_t>(1, 4, 80, 97, 160)
                                : *rc::gen::element<std::ptrdiff_t>(1, 4, 20);
    const std::ptrdiff_t pairs = *rc::gen::inRange<std::ptrdiff_t>(16'000, 20'000) / p.n_heads;
    p.kv_len = std::max(p.q_len, pairs / p.q_len);
    return LargeCall{p, *rc::gen::element(all_outputs, Call{.lse = true})};
  });
}

void showValue(const LargeCall& large, std::ostream& out) {
  out << format(large.problem) << (large.call.weights ? " with weights and scores" : "");
}

}  // namespace

TEST_CASE("G05 any number of threads gives the same bits") {
  property("1 to 8 threads, and twice", [] {
    const LargeCall large = *large_calls();
    const Data data = make_data(large.problem);
    const int threads = *rc::gen::inRange(2, 9);
    std::vector<Answer> serial;
    with_threads(1, [&] { for_each_isa([&](const Isa&) { serial.push_back(run(data, large.call)); }); });
    with_threads(threads, [&] {
      auto expected = serial.begin();
      for_each_isa([&](const Isa& isa) {
        require_same(isa, data, difference(*expected, run(data, large.call)));
        require_same(isa, data, difference(*expected, run(data, large.call)));
        ++expected;
      });
    });
  });
}

TEST_CASE("G05 calls made at the same time from one arena do not disturb each other") {
  property("four calls in tasks", [] {
    const LargeCall large = *large_calls();
    const Data data = make_data(large.problem);
    for_each_isa([&](const Isa& isa) {
      const Answer alone = run(data, large.call);
      std::array<std::string, 4> differences;
      with_threads(3, [&] {
        in_tasks(4, [&](int at) {
          differences[static_cast<std::size_t>(at)] = difference(alone, run(data, large.call));
        });
      });
      for (const std::string& text : differences) require_same(isa, data, text);
    });
  });
}

TEST_CASE("G05 whatever floating-point mode the caller is in gives the same bits") {
  property("special values too, flushing, rounding and trapping", [] {
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
