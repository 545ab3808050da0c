// The fused paths: a causal prompt, with and without its weights, and one step of decoding.
#include <rapt/attention.hpp>
#include <rapt/kv_cache.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "case.hpp"
#include "dispatch.hpp"
#include "kv_cache_store.hpp"
#include "measure.hpp"
#include "reference/attention_definition.hpp"
#include "textbook.hpp"

namespace rapt::bench {
namespace {

using Size = std::ptrdiff_t;

/// Random numbers in (-1, 1) as K and V are stored.
template <class S>
std::vector<S> stored_array(Size count, std::uint64_t stream) {
  if constexpr (std::is_floating_point_v<S>) {
    return random_array<S>(count, stream);
  } else {
    std::vector<S> stored;
    for (const float value : random_array<float>(count, stream)) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
      const std::uint32_t sign = bits >> 31, fraction = bits >> 13 & 0x3ff;
      // bf16 is the upper half of a float; as f16, numbers of magnitude 1/2 to 1.
      stored.push_back({static_cast<std::uint16_t>(
          std::is_same_v<S, bf16> ? bits >> 16 : sign << 15 | 14U << 10 | fraction)});
    }
    return stored;
  }
}

template <class T, class S>
class AttentionCase : public Case {
 public:
  /// q_len rows, the last of which sees all n keys.
  AttentionCase(const Shape& shape, Size q_len)
      : shape_(shape),
        q_len_(q_len),
        q_(random_array<T>(shape.batch * shape.heads * q_len * shape.d, 1)),
        k_(stored_array<S>(shape.batch * shape.kv_heads * shape.n * shape.d, 2)),
        v_(stored_array<S>(shape.batch * shape.kv_heads * shape.n * shape.d, 3)),
        out_(q_.size()) {
    options_.causal = Causal::bottom_right;
    const double pairs = q_len == 1 ? static_cast<double>(shape.n) : shape.causal_pairs();
    flop = static_cast<double>(shape.batch * shape.heads) * pairs * 4 * static_cast<double>(shape.d);
    if (q_len == 1) kv_bytes = 2.0 * static_cast<double>(k_.size() * sizeof(S));
  }

  void run() override {
    const Size n = shape_.n, d = shape_.d;
    attention(contiguous<const T>(q_.data(), {shape_.batch, shape_.heads, q_len_, d}),
              contiguous<const S>(k_.data(), {shape_.batch, shape_.kv_heads, n, d}),
              contiguous<const S>(v_.data(), {shape_.batch, shape_.kv_heads, n, d}),
              contiguous<T>(out_.data(), {shape_.batch, shape_.heads, q_len_, d}), options_);
  }

  // The definition is slow: the first and the last rows of the first and the last head.
  std::string check() override {
    run();
    for (const Size head : {Size{0}, shape_.batch * shape_.heads - 1}) {
      const Size first_rows = std::min<Size>(q_len_, 300), last_rows = std::min<Size>(q_len_, 4);
      std::string wrong = difference(head, 0, first_rows);
      if (wrong.empty()) wrong = difference(head, q_len_ - last_rows, last_rows);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  // One head stands for all. Of a long one, every so many rows, in proportion to the keys they see.
  double textbook_seconds() override {
    const std::vector<T> k = widened(k_), v = widened(v_);
    std::vector<T> row(static_cast<std::size_t>(shape_.n)), out(static_cast<std::size_t>(shape_.d));
    constexpr double enough_flop = 1e8;
    const double head_flop = flop / static_cast<double>(shape_.batch * shape_.heads);
    const Size step = std::max<Size>(1, static_cast<Size>(head_flop / enough_flop));
    double done = 0;
    const double start = measure::thread_cpu_seconds();
    for (Size i = step / 2; i < q_len_; i += step) {
      const Size keys = shape_.n - q_len_ + i + 1;
      textbook::attend(q_.data() + i * shape_.d, k.data(), v.data(), row.data(), out.data(), keys, shape_.d);
      done += 4 * static_cast<double>(keys * shape_.d);
    }
    return (measure::thread_cpu_seconds() - start) * flop / done;
  }

 protected:
  Shape shape_;
  Size q_len_;
  std::vector<T> q_;
  std::vector<S> k_, v_;
  std::vector<T> out_;
  AttentionOptions<T> options_;

 private:
  static std::vector<T> widened(const std::vector<S>& stored) {
    std::vector<T> values;
    for (const S& each : stored) values.push_back(static_cast<T>(reference::widen(each)));
    return values;
  }

  /// Rows [first, first + rows) of a head against the definition: a problem of its own, on the keys that the
  /// last of them sees.
  std::string difference(Size head, Size first, Size rows) const {
    const Size d = shape_.d, n = shape_.n, keys = n - q_len_ + first + rows;
    const Size kv_head =
        head / shape_.heads * shape_.kv_heads + head % shape_.heads / (shape_.heads / shape_.kv_heads);
    std::vector<T> expected(static_cast<std::size_t>(rows * d)), expected_weights;
    const T* actual = out_.data() + (head * q_len_ + first) * d;
    AttentionOptions<T> options = options_;
    if (options_.weights) {
      expected_weights.resize(static_cast<std::size_t>(rows * keys));
      options.weights = contiguous<T>(expected_weights.data(), {1, 1, rows, keys});
    }
    reference::attention_definition<T, S>(
        contiguous<const T>(q_.data() + (head * q_len_ + first) * d, {1, 1, rows, d}),
        contiguous<const S>(k_.data() + kv_head * n * d, {1, 1, keys, d}),
        contiguous<const S>(v_.data() + kv_head * n * d, {1, 1, keys, d}),
        contiguous<T>(expected.data(), {1, 1, rows, d}), options);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (actual[i] == expected[i] || std::abs(actual[i] - expected[i]) <= allowed_error(keys)) continue;
      return "head " + std::to_string(head) + ", row " + std::to_string(first + static_cast<Size>(i) / d) +
             ", component " + std::to_string(static_cast<Size>(i) % d) + " is " + std::to_string(actual[i]) +
             ", the definition says " + std::to_string(expected[i]);
    }
    // A weight is at most 1: twice the bound of out covers both.
    for (Size i = 0; options_.weights && i < rows; ++i) {
      for (Size j = 0; j < n; ++j) {
        const T is = (*options_.weights)(head / shape_.heads, head % shape_.heads, first + i, j);
        const T says = j < keys ? expected_weights[static_cast<std::size_t>(i * keys + j)] : T(0);
        if (is == says || std::abs(is - says) <= 2 * allowed_error(keys)) continue;
        return "head " + std::to_string(head) + ", weight of row " + std::to_string(first + i) + ", key " +
               std::to_string(j) + " is " + std::to_string(is) + ", the definition says " +
               std::to_string(says);
      }
    }
    return "";
  }

  /// With FMA the bits are the definition's. Without, both keep the bound of props/README.md against the
  /// exact value, so they are within twice that of each other: here |v| < 1, and the products of a score
  /// summed are at most sqrt(d).
  T allowed_error(Size keys) const {
    for (const Isa& isa : compiled_isas()) {
      if (isa.table == &active_kernels() && isa.has_fma) return 0;
    }
    const double d = static_cast<double>(shape_.d), seen = static_cast<double>(keys);
    const double units =
        2 * std::min(seen, 256.0) + 2 * std::ceil(seen / 256) + 2 * (d + 4) * std::sqrt(d) + 16;
    return static_cast<T>(units) * std::numeric_limits<T>::epsilon();
  }
};

/// The prompt again, with its normalised weights stored: n^2 numbers a head, in memory that is used again.
template <class T, class S>
class WeightsCase final : public AttentionCase<T, S> {
 public:
  explicit WeightsCase(const Shape& shape)
      : AttentionCase<T, S>(shape, shape.n),
        weights_(static_cast<std::size_t>(shape.batch * shape.heads * shape.n * shape.n)) {
    this->options_.weights = view();
  }

  double plain_seconds() override {
    constexpr int times = 3;
    this->options_.weights.reset();
    const double start = measure::thread_cpu_seconds();
    for (int i = 0; i < times; ++i) this->run();
    const double seconds = (measure::thread_cpu_seconds() - start) / times;
    this->options_.weights = view();
    return seconds;
  }

 private:
  View<T, 4> view() {
    const Shape& shape = this->shape_;
    return contiguous<T>(weights_.data(), {shape.batch, shape.heads, shape.n, shape.n});
  }

  std::vector<T> weights_;
};

/// One token behind n - 1 that a cache holds: appended, attended to, and taken back for the next time.
template <class T, class S>
class DecodeCase final : public AttentionCase<T, S> {
 public:
  explicit DecodeCase(const Shape& shape)
      : AttentionCase<T, S>(shape, 1),
        cache_({.batch = shape.batch,
                .n_kv_heads = shape.kv_heads,
                .head_dim = shape.d,
                .capacity = shape.n,
                .dtype = kv_dtype<S>}) {
    this->tokens = static_cast<double>(shape.batch);
    cache_.append(stored(this->k_, 0, shape.n - 1), stored(this->v_, 0, shape.n - 1));
  }

  void run() override {
    const Size n = this->shape_.n;
    const std::array<Size, 4> rows{this->shape_.batch, this->shape_.heads, 1, this->shape_.d};
    cache_.attend(contiguous<const T>(this->q_.data(), {rows[0], rows[1], rows[2], rows[3]}),
                  stored(this->k_, n - 1, 1), stored(this->v_, n - 1, 1),
                  contiguous<T>(this->out_.data(), {rows[0], rows[1], rows[2], rows[3]}));
    cache_.rollback(n - 1);
  }

 private:
  View<const S, 4> stored(const std::vector<S>& of, Size first, Size count) const {
    const Size n = this->shape_.n, d = this->shape_.d, kv_heads = this->shape_.kv_heads;
    return {of.data() + first * d, {this->shape_.batch, kv_heads, count, d}, {kv_heads * n * d, n * d, d, 1}};
  }

  KvCache cache_;
};

template <class T, class S>
std::unique_ptr<Case> make_case(const std::string& path, const Shape& shape) {
  if (path == "decode") return std::make_unique<DecodeCase<T, S>>(shape);
  if (path == "fused_weights") return std::make_unique<WeightsCase<T, S>>(shape);
  return std::make_unique<AttentionCase<T, S>>(shape, shape.n);
}

}  // namespace

bool has_attention_case(const std::string& path, const Shape& shape) {
  constexpr double most_weights = 1 << 28;  // held in memory
  const double pairs = static_cast<double>(shape.n) * static_cast<double>(shape.n);
  return shape.arithmetic == Arithmetic::fused &&
         (path != "fused_weights" ||
          (shape.threads == 1 && static_cast<double>(shape.batch * shape.heads) * pairs <= most_weights));
}

std::unique_ptr<Case> make_attention_case(const std::string& path, const Shape& shape) {
  switch (shape.dtype) {
    case Dtype::f64:
      return make_case<double, double>(path, shape);
    case Dtype::f32:
      return make_case<float, float>(path, shape);
    case Dtype::bf16:
      return make_case<float, bf16>(path, shape);
    case Dtype::f16:
      return make_case<float, f16>(path, shape);
  }
  return nullptr;
}

}  // namespace rapt::bench
