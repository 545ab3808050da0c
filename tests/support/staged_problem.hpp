// Random problems of the staged program for tests, properties and fuzzing, each a pure function of its name;
// and the comparison of what rapt computes with the plain reference.
#pragma once

#include <rapt/pipeline.hpp>

#include <cstdint>
#include <iosfwd>
#include <string>

#include "reference/staged.hpp"

namespace rapt::test {

/// What the numbers of a problem look like. ties: multiples of 1/16, whose sums and products often lie
/// between two thousandths.
enum class Numbers { one_decimal, two_decimals, three_decimals, integers, wide, ties, any };
inline constexpr int numbers_kinds = 7;

struct StagedProblem {
  int n, d, g, text_len;
  Numbers numbers;
  int masked_percent;
  std::uint64_t seed;
};

std::ostream& operator<<(std::ostream& out, const StagedProblem& problem);

/// A problem within the assignment's limits, from a seed alone; edges (1, the maximum, all masked) are
/// frequent.
StagedProblem random_problem(std::uint64_t seed);

pipeline::Input make_input(const StagedProblem& problem);

/// The text of an input: parse gives back the same bits.
std::string to_text(const pipeline::Input& input);

reference::StagedInput to_reference(const pipeline::Input& input);

/// Empty when every number of both has the same bits (or is NaN in both); else the first difference.
std::string difference(const pipeline::Result& result, const reference::StagedResult& expected);

/// All that print writes.
std::string printed(const pipeline::Input& input, const pipeline::Result& result);

}  // namespace rapt::test
