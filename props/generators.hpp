// Valid problems by construction, biased to the edges where attention kernels break, and the small vocabulary
// of the properties.
#pragma once

#include <ostream>
#include <string>

#include "property.hpp"
#include "support/isas.hpp"
#include "support/run.hpp"

namespace rapt::test {

/// RapidCheck prints a failing problem as its string.
inline void showValue(const Problem& problem, std::ostream& out) { out << format(problem); }

/// Lengths in [0, most]: 0, 1, panel widths and blocks of 256 with their neighbours, or anything.
rc::Gen<std::ptrdiff_t> lengths(std::ptrdiff_t most);

/// head_dim and v_dim: 1 to 70, odd ones, and the common powers of two.
rc::Gen<std::ptrdiff_t> dims();

/// Any valid problem with at most `work` multiply-adds.
rc::Gen<Problem> problems(std::ptrdiff_t work = 300'000);

/// A problem that a KvCache can be given in chunks: square, bottom_right, with none of what a cache has not.
rc::Gen<Problem> cacheable_problems();

/// A capacity that holds the problem: any from its window or, without one, its length on.
rc::Gen<std::ptrdiff_t> capacities(const Problem& problem);

/// Fails the property with the ISA, the problem and what differs, unless `difference` is empty.
void require_same(const Isa& isa, const Data& data, const std::string& difference);

/// Fails the property unless fraction <= 1; a NaN fails.
void require_within(const Isa& isa, const Data& data, const char* what, double fraction);

/// The element of `array` under an index of the full [batch, n_heads, q_len, kv_len]: an axis of extent 1 is
/// repeated.
double broadcast(const Array<4>& array, std::array<std::ptrdiff_t, 4> at);

/// Calls function(b, h, i) for every row of out.
template <class Function>
void for_each_row(const Data& data, Function function) {
  for (std::ptrdiff_t b = 0; b < data.q.extents[0]; ++b) {
    for (std::ptrdiff_t h = 0; h < data.q.extents[1]; ++h) {
      for (std::ptrdiff_t i = 0; i < data.q.extents[2]; ++i) function(b, h, i);
    }
  }
}

}  // namespace rapt::test
