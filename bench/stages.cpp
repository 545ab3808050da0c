// Stages 2 to 6 of the staged program, one at a time, one stage over all rows before the next.
#include "case.hpp"
#include "gemm.hpp"
#include "stage_blocks.hpp"
#include "stage_head.hpp"
#include "textbook.hpp"

namespace rapt::bench {
namespace {

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
        blocks_(shape.arithmetic, shape.d, n_),
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
  measure::StageBlocks<T> blocks_;
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
        blocks_(shape.arithmetic, shape.d, n_) {}

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
        blocks_.weigh(scores_.data() + i * n_, weights_.data() + i * n_, i + 1);
    });
  }
  void textbook_head() override { textbook::weights(scores_.data(), weights_.data(), n_); }

  std::vector<T> scores_, weights_;
  measure::StageBlocks<T> blocks_;
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
        blocks_(shape.arithmetic, shape.d, n_),
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
  measure::StageBlocks<T> blocks_;
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
        blocks_(shape.arithmetic, shape.d, n_ + g_),
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
      for (Size r = 0; r < rows; ++r) blocks_.weigh(scores + r * length, scores + r * length, first + r + 1);
      blocks_.sum(scores, length, first, rows, values_, out_.data() + (first - n) * d);
    });
  }
  void textbook_head() override {
    textbook::generate(head_.x.data() + n_ * d_, head_.wq.data(), head_.wk.data(), head_.wv.data(), q_.data(),
                       k_.data(), v_.data(), scores_.data(), out_.data(), n_, g_, d_);
  }

  std::vector<T> q_, k_, v_, out_, scores_;
  measure::StageBlocks<T> blocks_;
  AlignedArray<T> keys_, values_;
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
  if (path == "pipeline") return make_pipeline_case(shape);
  if (shape.dtype == Dtype::f64) return make_stage<double>(path, shape);
  return make_stage<float>(path, shape);
}

}  // namespace rapt::bench
