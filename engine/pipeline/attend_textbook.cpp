// Stages 3 to 6 in textbook arithmetic, on the kernels. The prompt's real rows and the generated rows form
// one sequence, in which a row sees itself and all before it: padded rows are compacted away, and generation
// is the end of the sequence. Every generated row is known from the start, so none waits for another; each
// sum is the one that a token-by-token cache gives.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dispatch.hpp"
#include "pipeline/attend.hpp"
#include "run.hpp"
#include "workspace.hpp"

namespace rapt::pipeline {
namespace {

/// The rows that take part, by their index among all n + g: the prompt's real ones, then the generated ones.
std::vector<Size> sequence_of(const Input& input) {
  std::vector<Size> rows;
  for (Size i = 0; i < input.n; ++i) {
    if (input.mask[static_cast<std::size_t>(i)] != 0) rows.push_back(i);
  }
  for (Size t = 0; t < input.g; ++t) rows.push_back(input.n + t);
  return rows;
}

/// Scores to weights in place: less the largest, the C library's exp, divided by their sum.
void softmax(double* row, Size keys) {
  double largest = -std::numeric_limits<double>::infinity();
  for (Size j = 0; j < keys; ++j) largest = row[j] > largest ? row[j] : largest;
  double sum = 0;
  for (Size j = 0; j < keys; ++j) {
    row[j] = std::exp(row[j] - largest);
    sum += row[j];
  }
  for (Size j = 0; j < keys; ++j) row[j] /= sum;
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
        keys_(element_count(d_, round_up(length_, kernels_.NR))),
        values_(element_count(length_, round_up(d_, kernels_.NR))),
        result_(result) {
    kernels_.pack({.source = rows.k,
                   .step_stride = 1,
                   .column_stride = d_,
                   .step_index = nullptr,
                   .column_index = sequence_.data(),
                   .steps = d_,
                   .columns = length_,
                   .panels = keys_.get(),
                   .panel_stride = d_ * kernels_.NR});
    kernels_.pack({.source = rows.v,
                   .step_stride = d_,
                   .column_stride = 1,
                   .step_index = sequence_.data(),
                   .column_index = nullptr,
                   .steps = length_,
                   .columns = d_,
                   .panels = values_.get(),
                   .panel_stride = length_ * kernels_.NR});
  }

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

  /// Rows [first, first + rows) of the sequence. Row i sees the keys 0 to i: i + 1 of them.
  void block(Size first, Size rows, const Scratch& scratch) {
    for (Size r = 0; r < rows; ++r) std::copy_n(q_ + row_index(first + r) * d_, d_, scratch.q + r * d_);
    kernels_.multiply_textbook({.a = scratch.q,
                                .a_stride = d_,
                                .b = keys_.get(),
                                .b_stride = d_ * kernels_.NR,
                                .c = scratch.scores,
                                .c_stride = length_,
                                .rows = rows,
                                .columns = first + rows,
                                .steps = d_,
                                .accumulate = false});
    for (Size r = 0; r < rows; ++r) {
      const Size keys = first + r + 1;
      double* row = scratch.scores + r * length_;
      for (Size j = 0; j < keys; ++j) row[j] /= root_;
      show(row, first + r, result_.scores);
      softmax(row, keys);
      show(row, first + r, result_.weights);
    }
    weigh(first, rows, scratch);
  }

  /// The values of the keys that all rows of the block see go in at once; then each row's own, up to itself.
  void weigh(Size first, Size rows, const Scratch& scratch) {
    kernels::MultiplyArgs<double> args{.a = scratch.scores,
                                       .a_stride = length_,
                                       .b = values_.get(),
                                       .b_stride = length_ * kernels_.NR,
                                       .c = scratch.out,
                                       .c_stride = d_,
                                       .rows = rows,
                                       .columns = d_,
                                       .steps = first + 1,
                                       .accumulate = false};
    kernels_.multiply_textbook(args);
    args.rows = 1;
    args.b += args.steps * kernels_.NR;
    args.accumulate = true;
    for (Size r = 1; r < rows; ++r) {
      args.a = scratch.scores + r * length_ + first + 1;
      args.c = scratch.out + r * d_;
      args.steps = r;
      kernels_.multiply_textbook(args);
    }
    for (Size r = 0; r < rows; ++r) finish(row_index(first + r), first + r + 1, scratch.out + r * d_);
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
  AlignedArray<double> keys_;    // K packed: panels of keys, [d, NR] each
  AlignedArray<double> values_;  // V packed: panels of components, [length, NR] each
  Result& result_;
};

}  // namespace

void attend_textbook(const Input& input, const Projected& rows, Result& result) {
  TextbookAttention(input, rows, result).run();
}

}  // namespace rapt::pipeline
