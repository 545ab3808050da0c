// An attention problem is a string, shared by tests, properties, benchmarks and bug reports:
//     b1_hq8_hkv2_q1_kv4096_d128_causal_f32
// Everything that the data depends on is in it, the seed too, so that one string replays a failure.
//
//   b hq hkv q kv d [dv]      sizes; dv only where it is not d
//   causal | topleft          bottom_right, top_left; else none
//   w5                        window
//   km-KIND qm-KIND at-KIND   key_mask, query_mask, attend: all none first last random sparse runs left
//   kl                        key_lengths, seeded
//   bias  alibi  cap2.5  scale-0.5
//   mag30                     q and k are drawn from [-30, 30) in place of [-1, 1)
//   x50                       of q, k, v and bias one number in 50 is NaN, infinite, zero, subnormal or huge
//   f32 f64 bf16 f16          how K and V are stored; q and out are f32 but for f64
//   s7                        seed, 0 if absent
#pragma once

#include <rapt/attention.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rapt::test {

enum class Dtype { f32, f64, bf16, f16 };

/// Which entries of a mask are true: `runs` alternates seeded runs of up to 300, `left` is false for a seeded
/// prefix.
enum class Mask { absent, all, none, first, last, random, sparse, runs, left };

struct Problem {
  std::ptrdiff_t batch = 1, n_heads = 1, n_kv_heads = 1, q_len = 1, kv_len = 1, head_dim = 1, v_dim = 1;
  Causal causal = Causal::none;
  std::optional<std::ptrdiff_t> window;
  Mask key_mask = Mask::absent, query_mask = Mask::absent, attend = Mask::absent;
  bool key_lengths = false, bias = false, alibi = false;
  std::optional<double> softcap, scale;
  double magnitude = 1;
  std::uint64_t special = 0;  ///< one number in so many; 0: none
  Dtype dtype = Dtype::f32;
  std::uint64_t seed = 0;

  bool operator==(const Problem&) const = default;
};

std::string format(const Problem& problem);

/// The inverse of format. Throws std::invalid_argument naming the token that it does not know.
Problem parse_problem(std::string_view text);

inline Problem operator""_problem(const char* text, std::size_t size) { return parse_problem({text, size}); }

const char* name(Dtype dtype);

/// The unit roundoff of the arithmetic: 2^-53 for f64, else 2^-24.
double unit_roundoff(Dtype dtype);

}  // namespace rapt::test
