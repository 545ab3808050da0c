// The shape of a KV cache as rapt capacity is asked about it, and what such a cache takes.
#pragma once

#include <rapt/capacity.hpp>
#include <rapt/kv_cache.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rapt::cli {

/// What is asked: the shape of a cache, and tokens or bytes or both.
struct CapacityQuestion {
  std::string model;  // whose shape it is; empty when it is no known one
  std::ptrdiff_t layers, heads, kv_heads, head_dim, v_dim;
  std::string dtype;
  std::ptrdiff_t batch;
  std::optional<std::ptrdiff_t> tokens;  // of each sequence
  std::optional<std::ptrdiff_t> memory;  // bytes
  std::string memory_words;              // as the user wrote it
};

/// "32 layers, 32 heads (8 of keys and values), head dim 128, bf16, 1 sequence"
std::string shape_in_words(const CapacityQuestion& question);

/// The caches of all layers with one number of heads of keys and values.
class Plan {
 public:
  Plan(const CapacityQuestion& question, const char* kind, std::ptrdiff_t kv_heads);

  const char* kind() const noexcept { return kind_; }  // MHA, GQA or MQA
  std::ptrdiff_t kv_heads() const noexcept { return shape_.n_kv_heads; }

  /// Throws invalid_input when it does not fit 64 bits.
  std::ptrdiff_t payload(std::ptrdiff_t tokens) const;
  /// What a KvCache for each layer allocates. Throws invalid_input when that does not fit 64 bits.
  std::ptrdiff_t allocated(std::ptrdiff_t tokens) const;
  /// Whether that is at most `bytes`; what cannot be counted is not.
  bool fits(std::ptrdiff_t tokens, std::ptrdiff_t bytes) const;
  std::ptrdiff_t payload_tokens(std::ptrdiff_t bytes) const;
  /// The most tokens whose caches fit.
  std::ptrdiff_t allocated_tokens(std::ptrdiff_t bytes) const;

 private:
  /// Throws invalid_input: so many tokens do not fit 64 bits.
  [[noreturn]] void refuse(std::ptrdiff_t tokens) const;

  const char* kind_;
  KvShape shape_;
  KvCacheOptions cache_;
};

/// The shape's own number of heads of keys and values between one for each query head and one for all.
std::vector<Plan> plans_of(const CapacityQuestion& question);

}  // namespace rapt::cli
