// The stages of the staged program, one at a time and whole. Stages 3 to 6 make the kernel calls that the
// pipeline makes, over the same blocks of rows, but one stage over all rows before the next, so that each can
// be timed alone.
#include <rapt/pipeline.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "case.hpp"
#include "dispatch.hpp"
#include "gemm.hpp"
#include "measure.hpp"
#include "reference/staged.hpp"
#include "run.hpp"
#include "textbook.hpp"

namespace rapt::bench {
namespace {

template <class T>
std::vector<T> rounded(const std::vector<double>& values) {
  return std::vector<T>(values.begin(), values.end());
}

template <class Body>
double seconds_of(const Body& body) {
  const double start = measure::thread_cpu_seconds();
  body();
  return measure::thread_cpu_seconds() - start;
}

/// The head that all stages work on: random numbers, no padding, and what the reference makes of them.
template <class T>
struct Head {
  explicit Head(const Shape& shape)
      : n(shape.n),
        d(shape.d),
        g(shape.g),
        x(random_array<T>((n + g) * d, 1)),
        wq(random_array<T>(d * d, 2)),
        wk(random_array<T>(d * d, 3)),
        wv(random_array<T>(d * d, 4)) {
    const auto widened = [](const T* from, Size count) { return std::vector<double>(from, from + count); };
    reference::StagedInput input{.n = static_cast<int>(n),
                                 .d = static_cast<int>(d),
                                 .g = static_cast<int>(g),
                                 .words = {"word"},
                                 .mask = std::vector<unsigned char>(static_cast<std::size_t>(n), 1),
                                 .prompt = widened(x.data(), n * d),
                                 .generated = widened(x.data() + n * d, g * d),
                                 .wq = widened(wq.data(), d * d),
                                 .wk = widened(wk.data(), d * d),
                                 .wv = widened(wv.data(), d * d)};
    result = reference::staged(input);
  }

  Size n, d, g;
  std::vector<T> x;           // [n + g, d]
  std::vector<T> wq, wk, wv;  // [d, d]
  reference::StagedResult result;
};

/// Compares with the reference: the same bits for f64 in textbook arithmetic, which is what the reference is;
/// else within `bound`, which each stage derives: u is the unit roundoff of T, and the stage's inputs are the
/// reference's rounded to T.
template <class T>
std::string difference(const Shape& shape, const std::vector<T>& actual, const std::vector<double>& expected,
                       double bound) {
  const bool exact = std::is_same_v<T, double> && shape.arithmetic == Arithmetic::textbook;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double is = static_cast<double>(actual[i]);
    const bool same = is == expected[i] || (!exact && std::abs(is - expected[i]) <= bound);
    if (!same) {
      return "element " + std::to_string(i) + " is " + std::to_string(is) + ", the reference says " +
             std::to_string(expected[i]) + " (allowed error " + std::to_string(exact ? 0.0 : bound) + ")";
    }
  }
  return "";
}

template <class T>
constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::isfinite(value) ? std::max(most, std::abs(value)) : most;
  return most;
}

/// How far from the reference each stage of a whole run in T may be, both sides' roundings counted. First
/// order, with room: the numbers of the input are at most 1, so that |x w| summed over d is at most d.
template <class T>
struct Bounds {
  Bounds(const reference::StagedResult& result, const Shape& shape) {
    const double d = static_cast<double>(shape.d), keys = static_cast<double>(shape.n + shape.g);
    const double q = largest(result.q), k = largest(result.k), v = std::max(largest(result.v), d);
    projection = 2 * (d + 1) * d * u<T>;
    // d products of rounded operands over sqrt(d).
    scores = std::sqrt(d) * ((q + k) * projection + 2 * (d + 5) * q * k * u<T>);
    // exp of a difference of scores, over a sum of the same.
    weights = 2 * std::expm1(2 * scores) + 2 * (keys + 16) * u<T>;
    output = v * (weights + 2 * (keys + 3) * u<T>)+projection;
  }
  double projection, scores, weights, output;
};

/// Attention of rows to the keys up to their own, in the blocks of the pipeline.
template <class T>
class Blocks {
 public:
  Blocks(const Shape& shape, Size keys) : arithmetic_(shape.arithmetic), d_(shape.d), length_(keys) {}

  /// body(first, rows) for each block of the rows [begin, end), the last first, in the caller's arena.
  template <class Body>
  void each(Size begin, Size end, double flop, const Body& body) const {
    const Size blocks = (end - begin + block_rows - 1) / block_rows;
    run_items(blocks, worker_slots(blocks, flop), [&](Size, Size item) {
      const Size first = begin + (blocks - 1 - item) * block_rows;
      body(first, std::min(block_rows, end - first));
    });
  }

  void pack_keys(const T* k, AlignedArray<T>& panels) const {
    kernels_.pack({.source = k,
                   .step_stride = 1,
                   .column_stride = d_,
                   .step_index = nullptr,
                   .column_index = nullptr,
                   .steps = d_,
                   .columns = length_,
                   .panels = panels.get(),
                   .panel_stride = d_ * kernels_.NR});
  }
  void pack_values(const T* v, AlignedArray<T>& panels) const {
    kernels_.pack({.source = v,
                   .step_stride = d_,
                   .column_stride = 1,
                   .step_index = nullptr,
                   .column_index = nullptr,
                   .steps = length_,
                   .columns = d_,
                   .panels = panels.get(),
                   .panel_stride = length_ * kernels_.NR});
  }
  AlignedArray<T> key_panels() const { return AlignedArray<T>(d_ * round_up(length_, kernels_.NR)); }
  AlignedArray<T> value_panels() const { return AlignedArray<T>(length_ * round_up(d_, kernels_.NR)); }

  void score(const T* q, Size first, Size rows, const AlignedArray<T>& keys, T* scores, Size stride) const {
    kernels_.multiply(arithmetic_)({.a = q,
                                    .a_stride = d_,
                                    .b = keys.get(),
                                    .b_stride = d_ * kernels_.NR,
                                    .c = scores,
                                    .c_stride = stride,
                                    .rows = rows,
                                    .columns = first + rows,
                                    .steps = d_,
                                    .accumulate = false});
    const T root = std::sqrt(static_cast<T>(d_));
    for (Size r = 0; r < rows; ++r) {
      for (Size j = 0; j <= first + r; ++j) scores[r * stride + j] /= root;
    }
  }

  static void weigh(const T* scores, T* weights, Size keys) {
    T most = -std::numeric_limits<T>::infinity();
    for (Size j = 0; j < keys; ++j) most = scores[j] > most ? scores[j] : most;
    T sum = 0;
    for (Size j = 0; j < keys; ++j) {
      weights[j] = std::exp(scores[j] - most);
      sum += weights[j];
    }
    for (Size j = 0; j < keys; ++j) weights[j] /= sum;
  }

  void sum(const T* weights, Size stride, Size first, Size rows, const AlignedArray<T>& values,
           T* out) const {
    kernels::MultiplyArgs<T> args{.a = weights,
                                  .a_stride = stride,
                                  .b = values.get(),
                                  .b_stride = length_ * kernels_.NR,
                                  .c = out,
                                  .c_stride = d_,
                                  .rows = rows,
                                  .columns = d_,
                                  .steps = first + 1,
                                  .accumulate = false};
    const auto multiply = kernels_.multiply(arithmetic_);
    multiply(args);
    args.rows = 1;
    args.b += args.steps * kernels_.NR;
    args.accumulate = true;
    for (Size r = 1; r < rows; ++r) {
      args.a = weights + r * stride + first + 1;
      args.c = out + r * d_;
      args.steps = r;
      multiply(args);
    }
  }

  static constexpr Size block_rows = 16;

 private:
  const kernels::Kernels<T>& kernels_ = active_kernels().of<T>();
  Arithmetic arithmetic_;
  Size d_, length_;
};

/// A stage of one head, run once for each head and sequence of the shape.
template <class T>
class StageCase : public Case {
 public:
  StageCase(const Shape& shape, double flop_of_head)
      : shape_(shape), head_(shape), n_(shape.n), d_(shape.d), g_(shape.g), head_flop_(flop_of_head) {
    flop = flop_of_head * static_cast<double>(times());
  }
  void run() final {
    for (Size i = 0; i < times(); ++i) run_head();
  }
  double textbook_seconds() final {
    return static_cast<double>(times()) * seconds_of([&] { textbook_head(); });
  }

 protected:
  virtual void run_head() = 0;
  virtual void textbook_head() = 0;
  Size times() const { return shape_.heads * shape_.batch; }
  std::size_t cells() const { return static_cast<std::size_t>(n_ * n_); }

  Shape shape_;
  Head<T> head_;
  Size n_, d_, g_;
  double head_flop_;
};

/// Stage 2: q, k and v of the prompt.
template <class T>
class Projection final : public StageCase<T> {
  using Base = StageCase<T>;
  using Base::d_, Base::head_, Base::n_, Base::shape_;

 public:
  explicit Projection(const Shape& shape)
      : Base(shape, 6.0 * static_cast<double>(shape.n * shape.d * shape.d)),
        y_(static_cast<std::size_t>(3 * n_ * d_)) {}

  std::string check() override {
    run_head();
    const reference::StagedResult& expected = head_.result;
    for (const auto& [what, at] : {std::pair{&expected.q, 0}, {&expected.k, 1}, {&expected.v, 2}}) {
      // d terms of at most 1 each: d roundings of partial sums of at most d.
      const auto from = y_.begin() + at * n_ * d_;
      const std::string wrong = difference(shape_, std::vector<T>(from, from + n_ * d_), *what,
                                           static_cast<double>((d_ + 1) * d_) * u<T>);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  void run_head() override {
    T* y = y_.data();
    for (const std::vector<T>* weight : {&head_.wq, &head_.wk, &head_.wv}) {
      gemm(shape_.arithmetic, contiguous<const T>(head_.x.data(), {n_, d_}),
           contiguous<const T>(weight->data(), {d_, d_}), contiguous<T>(y, {n_, d_}));
      y += n_ * d_;
    }
  }
  void textbook_head() override {
    T* y = y_.data();
    for (const std::vector<T>* weight : {&head_.wq, &head_.wk, &head_.wv}) {
      textbook::project(head_.x.data(), weight->data(), y, n_, d_);
      y += n_ * d_;
    }
  }

  std::vector<T> y_;  // q, k, v
};

/// Stage 3: q k / sqrt(d) of all visible pairs, K's packing included.
template <class T>
class Scores final : public StageCase<T> {
  using Base = StageCase<T>;
  using Base::d_, Base::head_, Base::n_, Base::shape_, Base::cells, Base::head_flop_;

 public:
  explicit Scores(const Shape& shape)
      : Base(shape, shape.causal_pairs() * (2 * static_cast<double>(shape.d) + 1)),
        q_(rounded<T>(head_.result.q)),
        k_(rounded<T>(head_.result.k)),
        scores_(cells(), -std::numeric_limits<T>::infinity()),
        blocks_(shape, n_),
        keys_(blocks_.key_panels()) {}

  std::string check() override {
    run_head();
    for (Size i = 0; i < n_; ++i)
      std::fill_n(scores_.begin() + i * n_ + i + 1, n_ - i - 1, -std::numeric_limits<T>::infinity());
    // d products, each operand rounded once, d + 2 roundings; |q k| / sqrt(d) summed is at most the largest
    // of both times sqrt(d).
    const double terms =
        largest(head_.result.q) * largest(head_.result.k) * std::sqrt(static_cast<double>(d_));
    return difference(shape_, scores_, head_.result.scores, static_cast<double>(d_ + 5) * u<T> * terms);
  }

 private:
  void run_head() override {
    blocks_.pack_keys(k_.data(), keys_);
    blocks_.each(0, n_, head_flop_, [&](Size first, Size rows) {
      blocks_.score(q_.data() + first * d_, first, rows, keys_, scores_.data() + first * n_, n_);
    });
  }
  void textbook_head() override { textbook::scores(q_.data(), k_.data(), scores_.data(), n_, d_); }

  std::vector<T> q_, k_, scores_;
  Blocks<T> blocks_;
  AlignedArray<T> keys_;
};

/// Stage 4: the softmax of every row, with the C library's exp. Five operations a visible pair: compare,
/// subtract, exp, add, divide.
template <class T>
class Weights final : public StageCase<T> {
  using Base = StageCase<T>;
  using Base::head_, Base::n_, Base::shape_, Base::cells, Base::head_flop_;

 public:
  explicit Weights(const Shape& shape)
      : Base(shape, shape.causal_pairs() * 5),
        scores_(rounded<T>(head_.result.scores)),
        weights_(cells()),
        blocks_(shape, n_) {}

  std::string check() override {
    run_head();
    // A weight is at most 1. The rounding of its score and of their difference, of exp, of a sum of n, and of
    // the division.
    return difference(shape_, weights_, head_.result.weights,
                      u<T> * (6 * largest(head_.result.scores) + static_cast<double>(n_) + 6));
  }

 private:
  void run_head() override {
    blocks_.each(0, n_, 20 * head_flop_, [&](Size first, Size rows) {
      for (Size i = first; i < first + rows; ++i)
        Blocks<T>::weigh(scores_.data() + i * n_, weights_.data() + i * n_, i + 1);
    });
  }
  void textbook_head() override { textbook::weights(scores_.data(), weights_.data(), n_); }

  std::vector<T> scores_, weights_;
  Blocks<T> blocks_;
};

/// Stage 5: the weighted sums of the values, V's packing included.
template <class T>
class Output final : public StageCase<T> {
  using Base = StageCase<T>;
  using Base::d_, Base::head_, Base::n_, Base::shape_, Base::head_flop_;

 public:
  explicit Output(const Shape& shape)
      : Base(shape, shape.causal_pairs() * 2 * static_cast<double>(shape.d)),
        weights_(rounded<T>(head_.result.weights)),
        v_(rounded<T>(head_.result.v)),
        out_(static_cast<std::size_t>(n_ * d_)),
        blocks_(shape, n_),
        values_(blocks_.value_panels()) {}

  std::string check() override {
    run_head();
    // Weights sum to 1: n + 3 roundings of at most the largest value.
    return difference(shape_, out_, head_.result.output,
                      static_cast<double>(n_ + 3) * u<T> * largest(head_.result.v));
  }

 private:
  void run_head() override {
    blocks_.pack_values(v_.data(), values_);
    blocks_.each(0, n_, head_flop_, [&](Size first, Size rows) {
      blocks_.sum(weights_.data() + first * n_, n_, first, rows, values_, out_.data() + first * d_);
    });
  }
  void textbook_head() override { textbook::output(weights_.data(), v_.data(), out_.data(), n_, d_); }

  std::vector<T> weights_, v_, out_;
  Blocks<T> blocks_;
  AlignedArray<T> values_;
};

/// Stage 6: g rows after n prompt rows whose K and V are there: projected, all K and V packed, and each
/// attends to what is before it and to itself.
template <class T>
class Decode final : public StageCase<T> {
  using Base = StageCase<T>;
  using Base::d_, Base::g_, Base::head_, Base::n_, Base::shape_, Base::head_flop_;

 public:
  explicit Decode(const Shape& shape)
      : Base(shape, static_cast<double>(shape.g) *
                        (6 * static_cast<double>(shape.d * shape.d) +
                         (4 * static_cast<double>(shape.d) + 6) *
                             (static_cast<double>(shape.n) + static_cast<double>(shape.g + 1) / 2))),
        q_(static_cast<std::size_t>(g_ * d_)),
        k_(rounded<T>(head_.result.k)),
        v_(rounded<T>(head_.result.v)),
        out_(q_.size()),
        scores_(static_cast<std::size_t>(g_ * (n_ + g_))),
        blocks_(shape, n_ + g_),
        keys_(blocks_.key_panels()),
        values_(blocks_.value_panels()) {
    k_.resize(static_cast<std::size_t>((n_ + g_) * d_));
    v_.resize(k_.size());
  }

  std::string check() override {
    run_head();
    return difference(shape_, out_, head_.result.generated, Bounds<T>(head_.result, shape_).output);
  }

 private:
  void run_head() override {
    const Size n = n_, d = d_, length = n_ + g_;
    const auto project = [&](const std::vector<T>& weight, T* y) {
      gemm(shape_.arithmetic, contiguous<const T>(head_.x.data() + n * d, {g_, d}),
           contiguous<const T>(weight.data(), {d, d}), contiguous<T>(y, {g_, d}));
    };
    project(head_.wq, q_.data());
    project(head_.wk, k_.data() + n * d);
    project(head_.wv, v_.data() + n * d);
    blocks_.pack_keys(k_.data(), keys_);
    blocks_.pack_values(v_.data(), values_);
    blocks_.each(n, length, head_flop_, [&](Size first, Size rows) {
      T* scores = scores_.data() + (first - n) * length;
      blocks_.score(q_.data() + (first - n) * d, first, rows, keys_, scores, length);
      for (Size r = 0; r < rows; ++r)
        Blocks<T>::weigh(scores + r * length, scores + r * length, first + r + 1);
      blocks_.sum(scores, length, first, rows, values_, out_.data() + (first - n) * d);
    });
  }
  void textbook_head() override {
    textbook::generate(head_.x.data() + n_ * d_, head_.wq.data(), head_.wk.data(), head_.wv.data(), q_.data(),
                       k_.data(), v_.data(), scores_.data(), out_.data(), n_, g_, d_);
  }

  std::vector<T> q_, k_, v_, out_, scores_;
  Blocks<T> blocks_;
  AlignedArray<T> keys_, values_;
};

/// The whole staged program in memory, stages 1 to 6 without reading and printing.
class Pipeline final : public Case {
 public:
  explicit Pipeline(const Shape& shape) : shape_(shape), head_(shape) {
    const Size n = shape.n, d = shape.d, g = shape.g;
    input_ = {.n = n,
              .d = d,
              .g = g,
              .words = {"word"},
              .mask = std::vector<unsigned char>(static_cast<std::size_t>(n), 1),
              .prompt = {head_.x.begin(), head_.x.begin() + n * d},
              .generated = {head_.x.begin() + n * d, head_.x.end()},
              .wq = head_.wq,
              .wk = head_.wk,
              .wv = head_.wv};
    const pipeline::Operations counts = pipeline::operations(input_);
    flop = static_cast<double>(times()) *
           static_cast<double>(2 * (counts.projection + counts.scores + counts.output + counts.generation));
  }

  std::string check() override {
    const pipeline::Result result = pipeline::run(input_, shape_.arithmetic);
    const reference::StagedResult& reference = head_.result;
    const Bounds<double> bounds(reference, shape_);
    struct Stage {
      const std::vector<double>&is, &expected;
      double bound;
    };
    for (const Stage& stage : {Stage{result.q, reference.q, bounds.projection},
                               {result.k, reference.k, bounds.projection},
                               {result.v, reference.v, bounds.projection},
                               {result.scores, reference.scores, bounds.scores},
                               {result.weights, reference.weights, bounds.weights},
                               {result.output, reference.output, bounds.output},
                               {result.generated, reference.generated, bounds.output}}) {
      const std::string wrong = difference(shape_, stage.is, stage.expected, stage.bound);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }
  void run() override {
    for (Size i = 0; i < times(); ++i) {
      pipeline::run(input_, shape_.arithmetic, result_);
      asm volatile("" : : "r"(result_.generated.data()) : "memory");
    }
  }
  double textbook_seconds() override {
    const Size n = shape_.n, d = shape_.d, g = shape_.g;
    const auto rows = [&] { return std::vector<double>(static_cast<std::size_t>((n + g) * d)); };
    std::vector<double> q = rows(), k = rows(), v = rows(), out = rows(),
                        scores(static_cast<std::size_t>(n * n)), weights = scores;
    std::vector<double> row(static_cast<std::size_t>(n + g));
    return static_cast<double>(times()) * seconds_of([&] {
             textbook::project(head_.x.data(), head_.wq.data(), q.data(), n, d);
             textbook::project(head_.x.data(), head_.wk.data(), k.data(), n, d);
             textbook::project(head_.x.data(), head_.wv.data(), v.data(), n, d);
             textbook::scores(q.data(), k.data(), scores.data(), n, d);
             textbook::weights(scores.data(), weights.data(), n);
             textbook::output(weights.data(), v.data(), out.data(), n, d);
             textbook::generate(head_.x.data() + n * d, head_.wq.data(), head_.wk.data(), head_.wv.data(),
                                q.data(), k.data(), v.data(), row.data(), out.data() + n * d, n, g, d);
           });
  }

 private:
  Size times() const { return shape_.heads * shape_.batch; }

  Shape shape_;
  Head<double> head_;
  pipeline::Input input_;
  pipeline::Result result_;
};

template <class T>
std::unique_ptr<Case> make_stage(const std::string& path, const Shape& shape) {
  if (path == "stage2/projection") return std::make_unique<Projection<T>>(shape);
  if (path == "stage3/scores") return std::make_unique<Scores<T>>(shape);
  if (path == "stage4/weights") return std::make_unique<Weights<T>>(shape);
  if (path == "stage5/output") return std::make_unique<Output<T>>(shape);
  return std::make_unique<Decode<T>>(shape);
}

}  // namespace

bool has_stage_case(const std::string& path, const Shape& shape) {
  // The stages hold n x n numbers, several times, and the reference takes n^2 d steps of a plain loop.
  constexpr std::ptrdiff_t largest_n = 4096;
  if (shape.n > largest_n) return false;
  if (shape.dtype == Dtype::bf16 || shape.dtype == Dtype::f16) return false;
  if (path == "pipeline") return shape.dtype == Dtype::f64;
  if (path == "stage6/decode" && shape.g == 0) return false;
  // Fused arithmetic has no softmax apart: its exp lives inside the attention kernel.
  return shape.arithmetic == Arithmetic::textbook || (path != "stage4/weights" && path != "stage6/decode");
}

std::unique_ptr<Case> make_stage_case(const std::string& path, const Shape& shape) {
  if (path == "pipeline") return std::make_unique<Pipeline>(shape);
  if (shape.dtype == Dtype::f64) return make_stage<double>(path, shape);
  return make_stage<float>(path, shape);
}

}  // namespace rapt::bench
