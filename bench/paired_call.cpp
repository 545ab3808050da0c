// The calls that compare_builds times, by rapt's public interface alone, so that this file compiles against
// older commits too.
#include "paired_call.hpp"

#include <rapt/rapt.hpp>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace rapt::bench {
namespace {

using Size = std::ptrdiff_t;

class Call {
 public:
  virtual ~Call() = default;
  virtual void run() = 0;
};

template <class T>
class TypedCall : public Call {
 public:
  explicit TypedCall(const PairedProblem& problem) : problem_(problem) {}

 protected:
  /// Rows [first, first + count) of every head of an array.
  View<const T, 4> rows(const void* array, Size heads, Size first, Size count) const {
    const auto [n, d] = std::pair(problem_.n, problem_.d);
    return {static_cast<const T*>(array) + first * d,
            {problem_.batch, heads, count, d},
            {heads * n * d, n * d, d, 1}};
  }
  View<T, 4> out(Size count) const {
    const auto [heads, d] = std::pair(problem_.heads, problem_.d);
    return contiguous(static_cast<T*>(problem_.out), {problem_.batch, heads, count, d});
  }
  View<const T, 2> transform() const {
    return contiguous(static_cast<const T*>(problem_.transform), {problem_.d, problem_.d});
  }

  PairedProblem problem_;
};

template <class T>
class PromptCall final : public TypedCall<T> {
 public:
  explicit PromptCall(const PairedProblem& problem) : TypedCall<T>(problem) {
    options_.causal = Causal::bottom_right;
    const auto [heads, n] = std::pair(problem.heads, problem.n);
    if (problem.weights != nullptr)
      options_.weights = contiguous(static_cast<T*>(problem.weights), {problem.batch, heads, n, n});
  }
  void run() override {
    const PairedProblem& p = this->problem_;
    attention(this->rows(p.q, p.heads, 0, p.n), this->rows(p.k, p.kv_heads, 0, p.n),
              this->rows(p.v, p.kv_heads, 0, p.n), this->out(p.n), options_);
  }

 private:
  AttentionOptions<T> options_;
};

/// A token against what a cache holds: the first rows of k and v.
template <class T>
class CachedCall : public TypedCall<T> {
 protected:
  CachedCall(const PairedProblem& problem, Size held)
      : TypedCall<T>(problem),
        held_(held),
        cache_({.batch = problem.batch,
                .n_kv_heads = problem.kv_heads,
                .head_dim = problem.d,
                .capacity = held + 1,
                .dtype = sizeof(T) == sizeof(double) ? KvDtype::f64 : KvDtype::f32}) {
    if (held > 0)
      cache_.append(this->rows(problem.k, problem.kv_heads, 0, held),
                    this->rows(problem.v, problem.kv_heads, 0, held));
  }
  void attend(const View<const T, 4>& q, const View<const T, 4>& k, const View<const T, 4>& v) {
    cache_.attend(q, k, v, this->out(1));
    cache_.rollback(held_);
  }

 private:
  Size held_;
  KvCache cache_;
};

template <class T>
class DecodeCall final : public CachedCall<T> {
 public:
  explicit DecodeCall(const PairedProblem& problem) : CachedCall<T>(problem, problem.n - 1) {}
  void run() override {
    const PairedProblem& p = this->problem_;
    this->attend(this->rows(p.q, p.heads, 0, 1), this->rows(p.k, p.kv_heads, p.n - 1, 1),
                 this->rows(p.v, p.kv_heads, p.n - 1, 1));
  }
};

template <class T>
class ProjectCall final : public TypedCall<T> {
 public:
  explicit ProjectCall(const PairedProblem& problem) : TypedCall<T>(problem), weights_(this->transform()) {}
  void run() override {
    const auto [n, d] = std::pair(this->problem_.n, this->problem_.d);
    project(contiguous(static_cast<const T*>(this->problem_.q), {1, n, d}), weights_,
            contiguous(static_cast<T*>(this->problem_.out), {1, n, d}));
  }

 private:
  Projection<T> weights_;
};

template <class T>
class StepCall final : public CachedCall<T> {
 public:
  explicit StepCall(const PairedProblem& problem)
      : CachedCall<T>(problem, problem.n),
        w_q_(this->transform()),
        w_k_(this->transform()),
        w_v_(this->transform()),
        projected_(static_cast<std::size_t>(3 * problem.d)) {}
  void run() override {
    const Size d = this->problem_.d;
    const auto x = contiguous(static_cast<const T*>(this->problem_.q), {1, 1, d});
    T* const q = projected_.data();
    project(x, w_q_, contiguous(q, {1, 1, d}));
    project(x, w_k_, contiguous(q + d, {1, 1, d}));
    project(x, w_v_, contiguous(q + 2 * d, {1, 1, d}));
    const auto row = [d](const T* of) { return contiguous(of, {1, 1, 1, d}); };
    this->attend(row(q), row(q + d), row(q + 2 * d));
  }

 private:
  Projection<T> w_q_, w_k_, w_v_;
  std::vector<T> projected_;
};

template <class T>
Call* made(const PairedProblem& problem) {
  const std::string_view call = problem.call;
  if (call == "attention" || call == "weights") return new PromptCall<T>(problem);
  if (call == "decode") return new DecodeCall<T>(problem);
  if (call == "project") return new ProjectCall<T>(problem);
  if (call == "step") return new StepCall<T>(problem);
  return nullptr;
}

}  // namespace
}  // namespace rapt::bench

extern "C" __attribute__((visibility("default"))) rapt::bench::PairedCall rapt_paired_call() {
  using namespace rapt::bench;
  return {.make = [](const PairedProblem& problem) -> void* {
            return problem.f64 ? made<double>(problem) : made<float>(problem);
          },
          .run = [](void* call) { static_cast<Call*>(call)->run(); },
          .drop = [](void* call) { delete static_cast<Call*>(call); }};
}
