// What a call gave, as doubles, and the comparison "same bits".
#pragma once

#include <optional>
#include <string>

#include "support/data.hpp"

namespace rapt::test {

struct Answer {
  Array<4> out;
  std::optional<Array<4>> weights, scores;
  std::optional<Array<3>> lse;
  AttentionReport report;
};

/// Empty where all bits agree (a NaN equals a NaN: payloads are not promised), else the first difference in
/// words: array, index, both values, both bit patterns. By-products count where both have them; the report
/// counts.
std::string difference(const Answer& expected, const Answer& actual);
template <int N>
std::string difference(const char* what, const Array<N>& expected, const Array<N>& actual);

/// FNV-1a over the bits of the values (all NaN are one), the same on every machine.
std::uint64_t hash_of(const Array<4>& values);

}  // namespace rapt::test
