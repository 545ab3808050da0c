// Stages 3 to 6 in textbook arithmetic, over a KV cache. The prompt's real rows and the generated rows form
// one sequence, in which a row sees itself and all before it: the cache leaves padded rows out, and
// generation is the end of the sequence. Every generated row is known from the start, so none waits for
// another; each sum is the one that a step by itself gives.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "dispatch.hpp"
#include "kv_cache_state.hpp"
#include "pipeline/attend.hpp"
#include "run.hpp"
#include "workspace.hpp"

namespace rapt::pipeline {
namespace {

using kernels::block_keys;

/// The rows that take part, by their index among all n + g: the prompt's real ones, then the generated ones.
std::vector<Size> sequence_of(const Input& input) {
  std::vector<Size> rows;
  for (Size i = 0; i < input.n; ++i) {
    if (input.mask[static_cast<std::size_t>(i)] != 0) rows.push_back(i);
  }
  for (Size t = 0; t < input.g; ++t) rows.push_back(input.n + t);
  return rows;
}

/// A cache of the keys and values of the prompt's real rows and of the generated rows.
KvCache filled_cache(const Input& input, const Projected& rows, Size length) {
  KvCache cache({.head_dim = input.d, .capacity = std::max<Size>(length, 1), .dtype = KvDtype::f64});
  const auto real = std::make_unique<bool[]>(static_cast<std::size_t>(input.n));
  std::transform(input.mask.begin(), input.mask.end(), real.get(), [](unsigned char m) { return m != 0; });
  const auto append = [&](Size first, Size count, const KvAppendOptions& options) {
    cache.append(contiguous(rows.k + first * input.d, {1, 1, count, input.d}),
                 contiguous(rows.v + first * input.d, {1, 1, count, input.d}), options);
  };
  append(0, input.n, {.key_mask = contiguous<const bool>(real.get(), {1, input.n})});
  append(input.n, input.g, {});
  return cache;
}

/// The largest of a row, NaNs passed over: eight maxima side by side, which do not wait for each other. Which
/// of +0 and -0 counts as the larger does not show behind exp.
double largest_of(const double* row, Size keys) {
  constexpr Size side_by_side = 8;
  double largest[side_by_side];
  std::fill_n(largest, side_by_side, -std::numeric_limits<double>::infinity());
  Size j = 0;
  for (; j + side_by_side <= keys; j += side_by_side) {
    for (Size l = 0; l < side_by_side; ++l) largest[l] = row[j + l] > largest[l] ? row[j + l] : largest[l];
  }
  for (; j < keys; ++j) largest[0] = row[j] > largest[0] ? row[j] : largest[0];
  return *std::max_element(largest, largest + side_by_side);
}

/// Attention of the sequence to itself in textbook arithmetic, a block of rows at a time.
class TextbookAttention {
 public:
  TextbookAttention(const Input& input, const Projected& rows, Result& result)
      : kernels_(active_kernels().f64),
        n_(input.n),
        d_(input.d),
        root_(std::sqrt(static_cast<double>(input.d))),
        sequence_(sequence_of(input)),
        length_(std::ssize(sequence_)),
        q_(rows.q),
        cache_(filled_cache(input, rows, length_)),
        store_(KvCacheAccess::store<double>(cache_)),
        result_(result) {}

  void run() {
    const Size blocks = (length_ + block_rows - 1) / block_rows;
    const double pairs = static_cast<double>(length_) * static_cast<double>(length_ + 1) / 2;
    const Size slots = worker_slots(blocks, pairs * (4 * static_cast<double>(d_) + exp_flop));
    const Size scores = element_count(block_rows, length_);
    const Size scratch_size = scores + 2 * block_rows * d_;
    const AlignedArray<double> scratch(element_count(slots, scratch_size));
    run_items(blocks, slots, [&](Size slot, Size item) {
      const Size first = (blocks - 1 - item) * block_rows;  // the last rows see most keys
      double* own = scratch.get() + slot * scratch_size;
      block(first, std::min(block_rows, length_ - first),
            {own, own + scores, own + scores + block_rows * d_});
    });
  }

 private:
  static constexpr Size block_rows = 16;
  static constexpr double exp_flop = 100;  // what one exp costs, in flop of the kernels

  struct Scratch {
    double* scores;  // [block_rows, length], then the weights
    double* q;       // [block_rows, d]
    double* out;     // [block_rows, d]
  };

  bool far() const noexcept {
    return kernels::is_far(static_cast<double>(d_) * static_cast<double>(length_) * sizeof(double));
  }

  /// Rows [first, first + rows) of the sequence. Row i sees the keys 0 to i: i + 1 of them.
  void block(Size first, Size rows, const Scratch& scratch) {
    for (Size r = 0; r < rows; ++r) std::copy_n(q_ + row_index(first + r) * d_, d_, scratch.q + r * d_);
    const Size columns = first + rows;
    for (Size start = 0; start < columns; start += block_keys) {
      kernels_.multiply_textbook({.a = scratch.q,
                                  .a_stride = d_,
                                  .b = store_.block(0, 0, start / block_keys).k,
                                  .b_stride = d_ * kernels_.NR,
                                  .b_far = far(),
                                  .c = scratch.scores + start,
                                  .c_stride = length_,
                                  .rows = rows,
                                  .columns = std::min(block_keys, columns - start),
                                  .steps = d_,
                                  .accumulate = false});
    }
    for (Size r = 0; r < rows; ++r) {
      const Size keys = first + r + 1;
      double* row = scratch.scores + r * length_;
      kernels_.divide(row, root_, row, keys);
      show(row, first + r, result_.scores);
      softmax(row, keys);
      show(row, first + r, result_.weights);
    }
    weigh(first, rows, scratch);
  }

  /// Scores to weights in place: less the largest, the C library's exp, divided by their sum.
  void softmax(double* row, Size keys) const {
    const double largest = largest_of(row, keys);
    double sum = 0;
    for (Size j = 0; j < keys; ++j) {
      row[j] = std::exp(row[j] - largest);
      sum += row[j];
    }
    kernels_.divide(row, sum, row, keys);
  }

  /// The values of the keys that all rows of the block see go in at once; then each row's own, up to itself.
  void weigh(Size first, Size rows, const Scratch& scratch) {
    add_values(0, rows, 0, first + 1, scratch);
    for (Size r = 1; r < rows; ++r) add_values(r, 1, first + 1, first + r + 1, scratch);
    for (Size r = 0; r < rows; ++r) finish(row_index(first + r), first + r + 1, scratch.out + r * d_);
  }

  /// Adds the weighted values of keys [key, last) to rows [row, row + rows); the sums start with key 0.
  void add_values(Size row, Size rows, Size key, Size last, const Scratch& scratch) {
    while (key < last) {
      const Size end = std::min((key / block_keys + 1) * block_keys, last);
      kernels_.multiply_textbook({.a = scratch.scores + row * length_ + key,
                                  .a_stride = length_,
                                  .b = store_.value_at(0, 0, key),
                                  .b_stride = block_keys * kernels_.NR,
                                  .b_far = far(),
                                  .c = scratch.out + row * d_,
                                  .c_stride = d_,
                                  .rows = rows,
                                  .columns = d_,
                                  .steps = end - key,
                                  .accumulate = key > 0});
      key = end;
    }
  }

  /// Stores an output row where it belongs. A generated row also tells the dot products that made it: one for
  /// each component of its q, k and v, each key it was scored against, and each component of its output.
  void finish(Size row, Size keys, const double* out) {
    if (row < n_) {
      std::copy_n(out, d_, result_.output.data() + row * d_);
    } else {
      std::copy_n(out, d_, result_.generated.data() + (row - n_) * d_);
      result_.dot_products[static_cast<std::size_t>(row - n_)] = 3 * d_ + keys + d_;
    }
  }

  /// Spreads the compacted columns of a prompt row i over the n printed ones.
  void show(const double* row, Size i, std::vector<double>& matrix) const {
    if (row_index(i) >= n_) return;
    double* to = matrix.data() + row_index(i) * n_;
    for (Size j = 0; j <= i; ++j) to[row_index(j)] = row[j];
  }

  Size row_index(Size i) const noexcept { return sequence_[static_cast<std::size_t>(i)]; }

  const kernels::Kernels<double>& kernels_;
  Size n_, d_;
  double root_;
  std::vector<Size> sequence_;
  Size length_;
  const double* q_;
  KvCache cache_;
  const KvStore<double>& store_;
  Result& result_;
};

}  // namespace

void attend_textbook(const Input& input, const Projected& rows, Result& result) {
  TextbookAttention(input, rows, result).run();
}

}  // namespace rapt::pipeline
