// rapt_replay PROBLEM...: runs every check that applies to a problem, as a failing property printed it, and
// says what differs. Exit status 1 when anything does, 2 when a string is no problem.
#include <rapt/error.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "checked.hpp"
#include "support/conformance.hpp"

using namespace rapt::test;
using rapt::checked_product;

namespace {

/// A problem as rapt writes it, small enough to be defined by plain loops. Throws std::invalid_argument.
Problem checked(const char* text) {
  const Problem p = parse_problem(text);
  if (format(p) != text) {
    throw std::invalid_argument(std::string("'") + text +
                                "' is not how a problem is written; as read it is '" + format(p) + "'");
  }
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("'") + text + "': " + what);
  };
  require(p.batch >= 0 && p.q_len >= 0 && p.kv_len >= 0, "b, q and kv must not be negative");
  require(p.n_kv_heads > 0 && p.n_heads > 0 && p.n_heads % p.n_kv_heads == 0, "hkv must divide hq");
  require(p.head_dim > 0 && p.v_dim > 0, "d and dv must be positive");
  require(std::isfinite(p.magnitude), "mag must be finite");
  constexpr std::ptrdiff_t most = std::ptrdiff_t{1} << 30;
  const auto q_rows = checked_product({p.batch, p.n_heads, p.q_len});
  for (const std::ptrdiff_t columns : {p.kv_len, p.head_dim, p.v_dim}) {
    const auto elements = q_rows ? checked_product({*q_rows, columns}) : std::nullopt;
    require(elements && *elements <= most, "more than 2^30 elements");
    const auto stored = checked_product({p.batch, p.n_kv_heads, p.kv_len, columns == p.kv_len ? 1 : columns});
    require(stored && *stored <= most, "more than 2^30 elements");
  }
  return p;
}

int replay(const char* text) {
  int failures = 0;
  std::printf("%s\n", text);
  for (const Check& check : conformance(checked(text))) {
    std::printf("  %-40s %s\n", check.name.c_str(), check.differs.empty() ? "same" : check.differs.c_str());
    failures += check.differs.empty() ? 0 : 1;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2)
    throw std::invalid_argument(
        "usage: rapt_replay PROBLEM... (the grammar is in tests/support/problem.hpp)");
  int status = 0;
  for (int i = 1; i < argc; ++i) status |= replay(argv[i]);
  if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
  return status;
} catch (const std::exception& error) {
  std::fprintf(stderr, "rapt_replay: %s\n", error.what());
  return 2;
}
