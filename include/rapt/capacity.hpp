// How much memory the keys and values of a model take: payload bytes, before any padding of a real cache.
#pragma once

#include <rapt/export.hpp>

#include <cstddef>
#include <optional>

namespace rapt {

/// The shape of a KV cache. batch and tokens may be 0; everything else is at least 1.
struct KvShape {
  std::ptrdiff_t batch = 1;       ///< sequences
  std::ptrdiff_t n_kv_heads = 1;  ///< heads that hold keys and values (MHA: n_heads; MQA: 1)
  std::ptrdiff_t tokens = 0;      ///< tokens of each sequence
  std::ptrdiff_t head_dim = 1;    ///< elements of one key
  std::optional<std::ptrdiff_t> v_dim = std::nullopt;  ///< elements of one value; head_dim when left empty
  std::ptrdiff_t layers = 1;
  std::ptrdiff_t itemsize = 4;  ///< bytes of an element: 8 (f64), 4 (f32), 2 (bf16, f16)
};

/// Payload bytes: layers * batch * n_kv_heads * tokens * (head_dim + v_dim) * itemsize; with v_dim = head_dim
/// and one layer that is 2 * B * Hkv * T * D * itemsize, the k_cache.nbytes + v_cache.nbytes of plain arrays.
/// Throws invalid_input when a member is out of range or the bytes do not fit std::ptrdiff_t. Constant time.
RAPT_API std::ptrdiff_t kv_capacity(const KvShape& shape);

/// The largest `tokens` with kv_capacity(shape) <= bytes; shape.tokens is not looked at. Throws invalid_input
/// when a member is out of range, bytes is negative, batch is 0 (any number fits), or the bytes of one token
/// do not fit std::ptrdiff_t. Constant time.
RAPT_API std::ptrdiff_t kv_tokens_that_fit(const KvShape& shape, std::ptrdiff_t bytes);

}  // namespace rapt
