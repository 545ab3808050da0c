// One token of one head, whole: its projections, its append to a cache, its attention.
#include <rapt/kv_cache.hpp>
#include <rapt/projection.hpp>

#include "case.hpp"
#include "kv_cache_store.hpp"
#include "stage_head.hpp"
#include "textbook.hpp"

namespace rapt::bench {
namespace {

/// Behind n tokens that the cache holds; taken back for the next time.
template <class T>
class StepCase final : public Case {
 public:
  explicit StepCase(Shape shape)
      : shape_(with_one_row(shape)),
        head_(shape_),
        w_q_(matrix(head_.wq)),
        w_k_(matrix(head_.wk)),
        w_v_(matrix(head_.wv)),
        q_(head_.x.size()),
        k_(q_.size()),
        v_(q_.size()),
        out_(static_cast<std::size_t>(shape_.d)),
        cache_({.n_kv_heads = 1, .head_dim = shape_.d, .capacity = shape_.n + 1, .dtype = kv_dtype<T>}) {
    const double n = static_cast<double>(shape_.n), d = static_cast<double>(shape_.d);
    flop = 6 * d * d + 4 * d * (n + 1);
    tokens = 1;
    project_rows(0, shape_.n);
    cache_.append(rows(k_, 0, shape_.n), rows(v_, 0, shape_.n));
  }

  std::string check() override {
    run();
    return difference(shape_, out_, head_.result.generated, Bounds<T>(head_.result, shape_).output);
  }

  void run() override {
    const Size n = shape_.n;
    project_rows(n, 1);
    cache_.attend(rows(q_, n, 1), rows(k_, n, 1), rows(v_, n, 1),
                  contiguous<T>(out_.data(), {1, 1, 1, shape_.d}));
    cache_.rollback(n);
  }

  double textbook_seconds() override {
    std::vector<T> scores(static_cast<std::size_t>(shape_.n + 1));
    const T* const x = head_.x.data() + shape_.n * shape_.d;
    return seconds_of([&] {
      textbook::generate(x, head_.wq.data(), head_.wk.data(), head_.wv.data(), q_.data(), k_.data(),
                         v_.data(), scores.data(), out_.data(), shape_.n, 1, shape_.d);
    });
  }

 private:
  static Shape with_one_row(Shape shape) {
    shape.g = 1;
    return shape;
  }
  Projection<T> matrix(const std::vector<T>& weight) const {
    return Projection<T>(contiguous<const T>(weight.data(), {shape_.d, shape_.d}));
  }
  View<const T, 4> rows(const std::vector<T>& of, Size first, Size count) const {
    return contiguous<const T>(of.data() + first * shape_.d, {1, 1, count, shape_.d});
  }
  void project_rows(Size first, Size count) {
    const auto x = contiguous<const T>(head_.x.data() + first * shape_.d, {1, count, shape_.d});
    const auto to = [&](std::vector<T>& y) {
      return contiguous<T>(y.data() + first * shape_.d, {1, count, shape_.d});
    };
    project(x, w_q_, to(q_));
    project(x, w_k_, to(k_));
    project(x, w_v_, to(v_));
  }

  Shape shape_;
  Head<T> head_;
  Projection<T> w_q_, w_k_, w_v_;
  std::vector<T> q_, k_, v_, out_;  // [n + 1, d], and out [d]
  KvCache cache_;
};

}  // namespace

bool has_step_case(const std::string&, const Shape& shape) {
  constexpr std::ptrdiff_t largest_n = 4096;  // the reference takes n^2 d steps of a plain loop
  return shape.arithmetic == Arithmetic::fused && (shape.dtype == Dtype::f64 || shape.dtype == Dtype::f32) &&
         shape.heads == 1 && shape.batch == 1 && shape.threads == 1 && shape.n <= largest_n;
}

std::unique_ptr<Case> make_step_case(const std::string&, const Shape& shape) {
  if (shape.dtype == Dtype::f64) return std::make_unique<StepCase<double>>(shape);
  return std::make_unique<StepCase<float>>(shape);
}

}  // namespace rapt::bench
