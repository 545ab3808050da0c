#include "plan.hpp"

#include <algorithm>

namespace rapt {
namespace {

// A multiple of the tiles' 6 and 4 rows. 96 rows use a block of keys 16 times from L2; 192 were no
// faster.
constexpr std::ptrdiff_t row_block = 96;
// With weights or scores asked for: so few that the rows' weights are still in L2 when they are divided.
constexpr std::ptrdiff_t by_product_rows = 24;
// From here on there are items enough without cutting along the keys.
constexpr std::ptrdiff_t many_heads = 16;
// Packed K and V in flight for each thread: few enough bytes for half of a small L2. A thread finds what it
// packed there; in 1 MiB, 8 heads of 512 take 5 % longer on Zen 3, which has 512 KiB.
constexpr std::ptrdiff_t wave_bytes = 1 << 18;
// And for all of them, however many and long the heads: scratch does not grow to a copy of K and V.
constexpr std::ptrdiff_t most_wave_bytes = 1 << 24;

// Stored blocks of one item: about 1 MiB of keys and values, so that an item outweighs its start.
constexpr std::ptrdiff_t run_blocks = 4;
// From here on KV heads keep any machine's threads busy.
constexpr std::ptrdiff_t heads_for_all = 64;

}  // namespace

AttentionPlan plan_attention(const AttentionShape& shape, std::ptrdiff_t key_blocks,
                             std::ptrdiff_t head_bytes, bool by_products) noexcept {
  const std::ptrdiff_t rows = by_products ? by_product_rows : row_block;
  AttentionPlan plan{Schedule::packed, rows, (shape.rows() + rows - 1) / rows, 1, 1};
  if (plan.row_blocks <= 1 && (key_blocks <= 1 || shape.heads() >= many_heads)) {
    plan.schedule = Schedule::streamed;
  } else if (!by_products && shape.rows() <= most_split_rows) {
    plan.schedule = Schedule::split;
  } else {
    const auto heads_in = [&](std::ptrdiff_t bytes) {
      return std::clamp<std::ptrdiff_t>(bytes / std::max<std::ptrdiff_t>(head_bytes, 1), 1,
                                        std::max<std::ptrdiff_t>(shape.heads(), 1));
    };
    plan.wave = heads_in(wave_bytes);
    plan.most_wave = heads_in(most_wave_bytes);
  }
  return plan;
}

CachedPlan plan_cached(const AttentionShape& shape, std::ptrdiff_t key_blocks) noexcept {
  return {
      .split = shape.rows() <= most_split_rows && key_blocks > run_blocks && shape.heads() < heads_for_all,
      .row_block = row_block,
      .row_blocks = (shape.rows() + row_block - 1) / row_block,
      .run = run_blocks,
      .runs = (key_blocks + run_blocks - 1) / run_blocks};
}

}  // namespace rapt
