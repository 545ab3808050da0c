// The grammar of problem strings: one table of sizes, one of words.
#include "support/problem.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace rapt::test {
namespace {

constexpr std::array<std::pair<Mask, const char*>, 8> mask_names{{{Mask::all, "all"},
                                                                  {Mask::none, "none"},
                                                                  {Mask::first, "first"},
                                                                  {Mask::last, "last"},
                                                                  {Mask::random, "random"},
                                                                  {Mask::sparse, "sparse"},
                                                                  {Mask::runs, "runs"},
                                                                  {Mask::left, "left"}}};
constexpr std::array<std::pair<Dtype, const char*>, 4> dtype_names{
    {{Dtype::f32, "f32"}, {Dtype::f64, "f64"}, {Dtype::bf16, "bf16"}, {Dtype::f16, "f16"}}};

// The token's value where it reads as prefix, number; longer prefixes are asked for first.
template <class Number>
bool read(std::string_view token, std::string_view prefix, Number& value) {
  if (!token.starts_with(prefix)) return false;
  const char* const last = token.data() + token.size();
  Number number{};
  const auto [end, error] = std::from_chars(token.data() + prefix.size(), last, number);
  if (error != std::errc{} || end != last) return false;
  value = number;
  return true;
}

template <class Number>
bool read(std::string_view token, std::string_view prefix, std::optional<Number>& value) {
  Number number{};
  if (!read(token, prefix, number)) return false;
  value = number;
  return true;
}

bool read(std::string_view token, std::string_view prefix, Mask& mask) {
  if (!token.starts_with(prefix)) return false;
  for (const auto& [kind, text] : mask_names) {
    if (token.substr(prefix.size()) == text) {
      mask = kind;
      return true;
    }
  }
  return false;
}

bool read_word(std::string_view token, Problem& problem) {
  for (const auto& [dtype, text] : dtype_names) {
    if (token == text) {
      problem.dtype = dtype;
      return true;
    }
  }
  const auto set = [](auto& member, auto value) {
    member = value;
    return true;
  };
  if (token == "causal") return set(problem.causal, Causal::bottom_right);
  if (token == "topleft") return set(problem.causal, Causal::top_left);
  if (token == "kl") return set(problem.key_lengths, true);
  if (token == "bias") return set(problem.bias, true);
  if (token == "alibi") return set(problem.alibi, true);
  return false;
}

bool read_number(std::string_view token, Problem& p, bool& has_v_dim) {
  if (read(token, "dv", p.v_dim)) return has_v_dim = true;
  return read(token, "b", p.batch) || read(token, "hq", p.n_heads) || read(token, "hkv", p.n_kv_heads) ||
         read(token, "q", p.q_len) || read(token, "kv", p.kv_len) || read(token, "d", p.head_dim) ||
         read(token, "w", p.window) || read(token, "km-", p.key_mask) || read(token, "qm-", p.query_mask) ||
         read(token, "at-", p.attend) || read(token, "cap", p.softcap) || read(token, "scale", p.scale) ||
         read(token, "mag", p.magnitude) || read(token, "x", p.special) || read(token, "s", p.seed);
}

std::string shortest(double value) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), result.ptr};
}

}  // namespace

std::string format(const Problem& p) {
  std::string text;
  const auto add = [&text](const char* prefix, const std::string& value) {
    if (!text.empty()) text += '_';
    text += prefix + value;
  };
  const auto add_mask = [&add](const char* prefix, Mask mask) {
    for (const auto& [kind, word] : mask_names) {
      if (kind == mask) add(prefix, word);
    }
  };
  add("b", std::to_string(p.batch));
  add("hq", std::to_string(p.n_heads));
  add("hkv", std::to_string(p.n_kv_heads));
  add("q", std::to_string(p.q_len));
  add("kv", std::to_string(p.kv_len));
  add("d", std::to_string(p.head_dim));
  if (p.v_dim != p.head_dim) add("dv", std::to_string(p.v_dim));
  if (p.causal != Causal::none) add(p.causal == Causal::top_left ? "topleft" : "causal", "");
  if (p.window) add("w", std::to_string(*p.window));
  add_mask("km-", p.key_mask);
  if (p.key_lengths) add("kl", "");
  add_mask("qm-", p.query_mask);
  add_mask("at-", p.attend);
  if (p.bias) add("bias", "");
  if (p.alibi) add("alibi", "");
  if (p.softcap) add("cap", shortest(*p.softcap));
  if (p.scale) add("scale", shortest(*p.scale));
  if (p.magnitude != 1) add("mag", shortest(p.magnitude));
  if (p.special != 0) add("x", std::to_string(p.special));
  add(name(p.dtype), "");
  if (p.seed != 0) add("s", std::to_string(p.seed));
  return text;
}

Problem parse_problem(std::string_view text) {
  Problem problem;
  bool has_v_dim = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view token = rest.substr(0, rest.find('_'));
    rest.remove_prefix(std::min(rest.size(), token.size() + 1));
    if (!read_word(token, problem) && !read_number(token, problem, has_v_dim)) {
      throw std::invalid_argument("problem: '" + std::string(token) + "' in '" + std::string(text) +
                                  "' is unknown");
    }
  }
  if (!has_v_dim) problem.v_dim = problem.head_dim;
  return problem;
}

const char* name(Dtype dtype) {
  for (const auto& [each, text] : dtype_names) {
    if (each == dtype) return text;
  }
  return "";
}

double unit_roundoff(Dtype dtype) { return std::ldexp(1.0, dtype == Dtype::f64 ? -53 : -24); }

}  // namespace rapt::test
