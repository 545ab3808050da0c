// What a stranger's program does first: looks at the version, computes, and catches a refusal.
#include <rapt/rapt.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#if RAPT_VERSION_MAJOR != 0 || RAPT_VERSION_MINOR < 1
#error "written for rapt 0.1"
#endif

namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (good) return;
  std::printf("FAILED: %s\n", what);
  ++failures;
}

void versions_agree() {
  const std::string headers = std::to_string(RAPT_VERSION_MAJOR) + "." + std::to_string(RAPT_VERSION_MINOR) +
                              "." + std::to_string(RAPT_VERSION_PATCH);
  check(headers == rapt::version(), "the headers are of the library's version");
  check(RAPT_CONTRACT_VERSION == rapt::contract_version(), "the headers are of the library's contract");
}

// A cache gives the bits of one call.
void attention_and_cache_agree() {
  constexpr std::ptrdiff_t heads = 2, len = 300, dim = 16;
  std::vector<float> q(heads * len * dim), k(q), v(q), whole(q), steps(q);
  for (std::size_t i = 0; i < q.size(); ++i) {
    q[i] = static_cast<float>(i % 17) / 16 - 0.5F;
    k[i] = static_cast<float>(i % 23) / 16 - 0.5F;
    v[i] = static_cast<float>(i % 29) / 16 - 0.5F;
  }
  const auto view = [](auto* x) { return rapt::contiguous(x, {1, heads, len, dim}); };
  rapt::AttentionOptions<float> options;
  options.causal = rapt::Causal::bottom_right;
  rapt::attention(view(q.data()), view(k.data()), view(v.data()), view(whole.data()), options);

  rapt::KvCache cache({.n_kv_heads = heads, .head_dim = dim, .capacity = len});
  cache.attend(view(q.data()), view(k.data()), view(v.data()), view(steps.data()));
  check(std::memcmp(whole.data(), steps.data(), whole.size() * sizeof(float)) == 0,
        "a cache gives the same bits");
}

// What the library throws is the class that the headers name, across the border of a shared library too.
void refusal_is_caught() {
  std::vector<float> x(4);
  const auto view = rapt::contiguous(x.data(), {1, 1, 2, 2});
  try {
    rapt::attention(view, view, view, view);
    check(false, "out over an input is refused");
  } catch (const rapt::invalid_input& error) {
    check(std::strstr(error.what(), "out") != nullptr, "the message names the argument");
  }
}

}  // namespace

int main() {
  versions_agree();
  attention_and_cache_agree();
  refusal_is_caught();
  if (failures == 0) std::printf("rapt %s, %s: good\n", rapt::version(), rapt::isa());
  return failures;
}
