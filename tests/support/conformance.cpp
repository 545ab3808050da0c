#include "support/conformance.hpp"

#include <algorithm>

#include "support/isas.hpp"
#include "support/kv_run.hpp"

namespace rapt::test {
namespace {

// Without FMA the definition's bits are not promised, its bound is; a problem with special values has none.
std::string against_definition(const Isa& isa, const Data& data, const Answer& defined,
                               const Answer& answer) {
  if (isa.has_fma) return difference(defined, answer);
  if (data.problem.special != 0) return {};
  const double fraction = worst_fraction_of_bound(data, answer, false);
  return fraction <= 1 ? std::string() : std::to_string(fraction) + " of the bound";
}

void check_on(const Isa& isa, const Data& data, const Answer& defined, std::vector<Check>& checks) {
  const auto check = [&](const char* what, std::string differs) {
    checks.push_back({std::string(isa.table->name) + ": " + what, std::move(differs)});
  };
  const Answer answer = run(data, all_outputs);
  check("the definition", against_definition(isa, data, defined, answer));
  check("no by-products", difference(answer, run(data)));
  check("weights only", difference(answer, run(data, {.weights = true})));
  constexpr std::pair<Layout, const char*> layouts[] = {{Layout::permuted, "permuted axes"},
                                                        {Layout::gapped, "gaps"},
                                                        {Layout::reversed, "negative strides"},
                                                        {Layout::columns, "columns first"}};
  for (const auto& [layout, what] : layouts) {
    Call call = all_outputs;
    call.layout = layout;
    check(what, difference(answer, run(data, call)));
  }
  if (!is_cacheable(data.problem)) return;
  const Problem& p = data.problem;
  const Chunks steps(static_cast<std::size_t>(p.q_len), 1);
  const std::ptrdiff_t capacity = p.window.value_or(std::max<std::ptrdiff_t>(p.kv_len, 1));
  check("a cache, token by token", difference("out", answer.out, run_cached(data, steps, capacity).out));
}

}  // namespace

bool is_cacheable(const Problem& p) {
  return p.causal == Causal::bottom_right && p.q_len == p.kv_len && !p.key_lengths && !p.bias && !p.alibi &&
         p.query_mask == Mask::absent && p.attend == Mask::absent;
}

std::vector<Check> conformance(const Problem& problem) {
  const Data data = make_data(problem);
  const Answer defined = define(data, all_outputs);
  std::vector<Check> checks;
  for_each_isa([&](const Isa& isa) { check_on(isa, data, defined, checks); });
  return checks;
}

}  // namespace rapt::test
