// Seeded numbers, the same on every machine: value number i of a stream, in any order.
#pragma once

#include <cstdint>

namespace rapt::test {

/// 64 well-mixed bits (splitmix64's finaliser) of value `index` of stream `stream`.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t x =
      seed * 0x9e3779b97f4a7c15U + stream * 0xd1342543de82ef95U + index * 0xaf251af3b0f025b5U + 1;
  for (int round = 0; round < 2; ++round) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
  }
  return x;
}

/// Uniform in [-1, 1), a multiple of 2^-52.
constexpr double random_unit(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<double>(static_cast<std::int64_t>(random_bits(seed, stream, index)) >> 11) * 0x1p-52;
}

/// Uniform in [0, end).
constexpr std::uint64_t random_below(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                                     std::uint64_t end) {
  return random_bits(seed, stream, index) % end;
}

}  // namespace rapt::test
