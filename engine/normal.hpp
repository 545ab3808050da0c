// Seeded normal numbers with the same bits on every machine: integer arithmetic, the five exactly rounded
// operations, and nothing of the C library. Value i is a pure function of (seed, stream, i).
#pragma once

#include <cstdint>

namespace rapt {

/// Value `index` of an endless sequence of independent standard normal numbers; each (seed, stream) is its
/// own sequence. |value| is at most 8.3 (the quantile of 2^-53). Error of the quantile: below 1e-15 relative.
double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept;

}  // namespace rapt
