// Runs a causal problem through a KvCache, chunk by chunk.
#pragma once

#include "support/run.hpp"

namespace rapt::test {

/// Lengths of consecutive chunks. They may be 0; together they are the problem's q_len.
using Chunks = std::vector<std::ptrdiff_t>;

/// attend() over the chunks, in a cache of this capacity that was given the first kv_len - q_len tokens by
/// one append(). The problem is bottom_right, and has no attend, bias, ALiBi, query_mask or key_lengths. The
/// report is the chunks' sum.
Answer run_cached(const Data& data, const Chunks& chunks, std::ptrdiff_t capacity, const Call& call = {});

}  // namespace rapt::test
