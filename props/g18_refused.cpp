// G18: a refused call changes nothing. tests/validate_test.cpp holds the messages.
#include <rapt/error.hpp>

#include <functional>
#include <limits>

#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// Views of a valid call of which one thing is spoiled.
struct Arguments {
  View<const float, 4> q, k, v;
  View<float, 4> out;
  AttentionOptions<float> options;
};

const std::vector<std::function<void(Arguments&)>>& spoilers() {
  static const float number = 0;
  static const std::vector<std::function<void(Arguments&)>> all{
      [](Arguments& a) { ++a.k.extents[3]; },
      [](Arguments& a) { ++a.k.extents[0]; },
      [](Arguments& a) { a.k.extents[1] = a.v.extents[1] = a.q.extents[1] + 1; },
      [](Arguments& a) { ++a.v.extents[2]; },
      [](Arguments& a) { ++a.out.extents[3]; },
      [](Arguments& a) { a.q.extents[3] = a.k.extents[3] = 0; },
      [](Arguments& a) { a.q.extents[2] = a.out.extents[2] = -1; },
      [](Arguments& a) { a.options.scale = std::numeric_limits<double>::quiet_NaN(); },
      [](Arguments& a) { a.options.softcap = -1.0F; },
      [](Arguments& a) { a.options.window = 0; },
      [](Arguments& a) {
        a.options.causal = Causal::none;
        a.options.window = 3;
      },
      [](Arguments& a) {
        a.options.causal = Causal::none;
        a.options.alibi_slopes = View<const float, 1>{&number, {a.q.extents[1]}, {0}};
      },
      [](Arguments& a) {
        a.options.bias = View<const float, 4>{&number, {1, 1, 1, a.k.extents[2] + 2}, {0, 0, 0, 0}};
      },
      [](Arguments& a) { --a.options.lse->extents[2]; },
      [](Arguments& a) { a.options.weights->strides[2] = 0; },
      [](Arguments& a) { a.options.scores->data = a.out.data; },
      [](Arguments& a) { a.q.data = a.out.data; },
  };
  return all;
}

}  // namespace

TEST_CASE("G18 a refused call changes nothing") {
  property("one argument spoiled", [] {
    Problem problem = *problems(20'000);
    problem.dtype = Dtype::f32;
    problem.q_len = std::max<std::ptrdiff_t>(problem.q_len, 2);
    problem.kv_len = std::max<std::ptrdiff_t>(problem.kv_len, 2);
    const Data data = make_data(problem);
    const Problem& p = data.problem;
    const std::array rows{p.batch, p.n_heads, p.q_len};
    const std::array outs{p.batch, p.n_heads, p.q_len, p.v_dim};
    const std::array pairs{p.batch, p.n_heads, p.q_len, p.kv_len};
    const std::size_t which = *rc::gen::inRange<std::size_t>(0, spoilers().size());
    for_each_isa([&](const Isa& isa) {
      const Placed<float, 4> q(data.q, Layout::dense), k(data.k, Layout::dense), v(data.v, Layout::dense);
      const Placed<float, 4> out(outs, Layout::dense);
      const Placed<float, 4> weights(pairs, Layout::dense);
      const Placed<float, 4> scores(pairs, Layout::dense);
      const Placed<float, 3> lse(rows, Layout::dense);
      Arguments arguments{q.view(), k.view(), v.view(), out.view(), {}};
      arguments.options.causal = problem.causal;
      arguments.options.weights = weights.view();
      arguments.options.scores = scores.view();
      arguments.options.lse = lse.view();
      spoilers()[which](arguments);
      const auto call = [&] {
        attention(arguments.q, arguments.k, arguments.v, arguments.out, arguments.options);
      };
      RC_ASSERT_THROWS_AS(call(), invalid_input);
      if (!out.untouched() || !weights.untouched() || !scores.untouched() || !lse.untouched()) {
        require_same(isa, data, "an output was written by refused call " + std::to_string(which));
      }
      require_same(isa, data,
                   difference("q", data.q, q.read()) + difference("k", data.k, k.read()) +
                       difference("v", data.v, v.read()));
    });
  });
}
