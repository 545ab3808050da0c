// The distributions of the properties' problems.
#include "generators.hpp"

#include <algorithm>
#include <cmath>

namespace rapt::test {
namespace {

template <class T>
rc::Gen<T> one_of(std::vector<T> values) {
  return rc::gen::elementOf(std::move(values));
}

// True once in n draws.
bool once_in(int n) { return *rc::gen::inRange(0, n) == n - 1; }

Mask some_mask(int once_in_n) {
  if (!once_in(once_in_n)) return Mask::absent;
  return *one_of<Mask>({Mask::all, Mask::none, Mask::first, Mask::last, Mask::random, Mask::random,
                        Mask::sparse, Mask::runs, Mask::left});
}

// What fails, where, and the command that runs the problem again.
std::string failure(const Isa& isa, const Data& data) {
  const std::string problem = format(data.problem);
  return problem + " on " + isa.table->name + "\nreplay: build/bin/rapt_replay " + problem + '\n';
}

// scale, softcap, bias, magnitudes: what scores go through.
void choose_scores(Problem& p) {
  if (once_in(4)) p.softcap = *one_of<double>({0, 0.5, 3, 50});
  if (once_in(5)) p.scale = *one_of<double>({0, -1, 0.25, 3});
  if (once_in(4)) p.magnitude = *one_of<double>({0.001, 6, 40});
  p.bias = once_in(5);
  p.alibi = p.causal != Causal::none && once_in(4);
}

}  // namespace

rc::Gen<std::ptrdiff_t> lengths(std::ptrdiff_t most) {
  std::vector<std::ptrdiff_t> edges;
  for (const std::ptrdiff_t edge : {0,  1,  1,  2,  3,  4,  5,   7,   8,   9,   15,  16,  17,  23,  24, 25,
                                    31, 32, 33, 95, 96, 97, 191, 192, 193, 255, 256, 257, 511, 512, 513}) {
    if (edge <= most) edges.push_back(edge);
  }
  return rc::gen::oneOf(one_of(std::move(edges)), rc::gen::inRange<std::ptrdiff_t>(0, most + 1));
}

rc::Gen<std::ptrdiff_t> dims() {
  return rc::gen::oneOf(rc::gen::inRange<std::ptrdiff_t>(1, 71),
                        one_of<std::ptrdiff_t>({1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64}));
}

rc::Gen<Problem> problems(std::ptrdiff_t work) {
  return rc::gen::exec([work] {
    Problem p;
    p.dtype = *one_of<Dtype>({Dtype::f32, Dtype::f32, Dtype::f64, Dtype::f64, Dtype::bf16, Dtype::f16});
    p.batch = *rc::gen::inRange<std::ptrdiff_t>(1, 4);
    p.n_kv_heads = *rc::gen::inRange<std::ptrdiff_t>(1, 4);
    p.n_heads = p.n_kv_heads * *one_of<std::ptrdiff_t>({1, 1, 2, 3, 5});
    p.head_dim = *dims();
    p.v_dim = once_in(2) ? *dims() : p.head_dim;
    // Long contexts leave room for few queries, and the other way round.
    const std::ptrdiff_t pairs =
        std::max<std::ptrdiff_t>(1, work / (p.batch * p.n_heads * (p.head_dim + p.v_dim)));
    p.kv_len = *lengths(std::min<std::ptrdiff_t>(pairs, 600));
    p.q_len = *lengths(std::min<std::ptrdiff_t>(pairs / std::max<std::ptrdiff_t>(p.kv_len, 1), 600));
    if (once_in(4) && p.kv_len * p.kv_len <= pairs) p.q_len = p.kv_len;
    p.causal = *one_of<Causal>({Causal::none, Causal::top_left, Causal::bottom_right, Causal::bottom_right});
    if (p.causal != Causal::none && once_in(3)) p.window = 1 + *lengths(300);
    p.key_mask = some_mask(3);
    p.key_lengths = once_in(4);
    p.query_mask = some_mask(5);
    p.attend = some_mask(4);
    choose_scores(p);
    p.seed = *rc::gen::noShrink(rc::gen::inRange<std::uint64_t>(0, 1'000'000));
    return p;
  });
}

rc::Gen<Problem> cacheable_problems() {
  return rc::gen::exec([] {
    Problem p = *problems();
    p.causal = Causal::bottom_right;
    p.q_len = p.kv_len = *rc::gen::oneOf(lengths(40), lengths(600));
    // A square of 600 with the sizes of problems() would take a definition too long.
    if (p.kv_len > 60)
      p.batch = p.n_kv_heads = p.n_heads = 1, p.head_dim = std::min<std::ptrdiff_t>(p.head_dim, 9);
    if (p.kv_len > 60) p.v_dim = std::min<std::ptrdiff_t>(p.v_dim, 9);
    if (!p.window && once_in(2)) p.window = 1 + *lengths(300);
    p.key_lengths = p.bias = p.alibi = false;
    p.query_mask = p.attend = Mask::absent;
    return p;
  });
}

rc::Gen<std::ptrdiff_t> capacities(const Problem& problem) {
  const std::ptrdiff_t least = problem.window.value_or(std::max<std::ptrdiff_t>(problem.kv_len, 1));
  return rc::gen::oneOf(rc::gen::just(least), rc::gen::inRange(least, least + 400));
}

void require_same(const Isa& isa, const Data& data, const std::string& difference) {
  if (!difference.empty()) RC_FAIL(failure(isa, data) + difference);
}

void require_within(const Isa& isa, const Data& data, const char* what, double fraction) {
  if (fraction <= 1) return;
  RC_FAIL(failure(isa, data) + what + ": " + std::to_string(fraction) + " of the bound");
}

double broadcast(const Array<4>& array, std::array<std::ptrdiff_t, 4> at) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (array.extents[axis] == 1) at[axis] = 0;
  }
  return array(at[0], at[1], at[2], at[3]);
}

}  // namespace rapt::test
