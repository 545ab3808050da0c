// libFuzzer target of attention(): the bytes choose a problem; all checks of tests/support/conformance.hpp
// must hold for it. Prints the problem, for rapt_replay, before it aborts.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdio>
#include <cstdlib>

#include "support/conformance.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// Sizes whose definition takes a few milliseconds: what varies is masks, options and edges.
Problem problem_from(FuzzedDataProvider& bytes) {
  const auto upto = [&](std::ptrdiff_t most) {
    return bytes.ConsumeIntegralInRange<std::ptrdiff_t>(0, most);
  };
  Problem p;
  p.dtype = bytes.PickValueInArray({Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16});
  p.batch = 1 + upto(1);
  p.n_kv_heads = 1 + upto(1);
  p.n_heads = p.n_kv_heads * (1 + upto(2));
  p.head_dim = 1 + upto(34);
  p.v_dim = bytes.ConsumeBool() ? p.head_dim : 1 + upto(34);
  p.q_len = upto(bytes.ConsumeBool() ? 4 : 40);
  p.kv_len = bytes.ConsumeBool() ? p.q_len : upto(600);
  p.causal = bytes.PickValueInArray({Causal::none, Causal::top_left, Causal::bottom_right});
  if (p.causal != Causal::none && bytes.ConsumeBool()) p.window = 1 + upto(300);
  const auto mask = [&] {
    return bytes.PickValueInArray({Mask::absent, Mask::absent, Mask::all, Mask::none, Mask::first, Mask::last,
                                   Mask::random, Mask::sparse, Mask::runs, Mask::left});
  };
  p.key_mask = mask();
  p.query_mask = mask();
  p.attend = mask();
  p.key_lengths = bytes.ConsumeBool();
  p.bias = bytes.ConsumeBool();
  p.alibi = p.causal != Causal::none && bytes.ConsumeBool();
  if (bytes.ConsumeBool()) p.softcap = bytes.PickValueInArray({0.0, 0.5, 3.0, 50.0});
  if (bytes.ConsumeBool()) p.scale = bytes.PickValueInArray({0.0, -1.0, 0.25, 3.0});
  p.magnitude = bytes.PickValueInArray({1.0, 1.0, 0.001, 6.0, 40.0});
  p.special = bytes.PickValueInArray<std::uint64_t>({0, 0, 5, 50, 1000});
  p.seed = bytes.ConsumeIntegral<std::uint32_t>();
  return p;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  FuzzedDataProvider provider(bytes, size);
  const Problem problem = problem_from(provider);
  for (const Check& check : conformance(problem)) {
    if (check.differs.empty()) continue;
    std::fprintf(stderr, "%s\n%s: %s\n", format(problem).c_str(), check.name.c_str(), check.differs.c_str());
    std::abort();
  }
  return 0;
}
