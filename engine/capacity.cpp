#include <rapt/capacity.hpp>
#include <rapt/error.hpp>

#include <limits>
#include <string>

#include "checked.hpp"

namespace rapt {
namespace {

void require_at_least(const char* name, std::ptrdiff_t value, std::ptrdiff_t least) {
  if (value >= least) return;
  throw invalid_input("kv_capacity: " + std::string(name) + " is " + std::to_string(value) +
                      ", expected at least " + std::to_string(least));
}

}  // namespace

std::ptrdiff_t kv_capacity(const KvShape& shape) {
  const std::ptrdiff_t v_dim = shape.v_dim.value_or(shape.head_dim);
  require_at_least("batch", shape.batch, 0);
  require_at_least("n_kv_heads", shape.n_kv_heads, 1);
  require_at_least("tokens", shape.tokens, 0);
  require_at_least("head_dim", shape.head_dim, 1);
  require_at_least("v_dim", v_dim, 1);
  require_at_least("layers", shape.layers, 1);
  require_at_least("itemsize", shape.itemsize, 1);

  std::ptrdiff_t row = 0;
  if (!__builtin_add_overflow(shape.head_dim, v_dim, &row)) {
    const auto bytes =
        checked_product({shape.layers, shape.batch, shape.n_kv_heads, shape.tokens, row, shape.itemsize});
    if (bytes) return *bytes;
  }
  throw invalid_input("kv_capacity: the payload of this shape is more than " +
                      std::to_string(std::numeric_limits<std::ptrdiff_t>::max()) + " bytes");
}

std::ptrdiff_t kv_tokens_that_fit(const KvShape& shape, std::ptrdiff_t bytes) {
  require_at_least("bytes", bytes, 0);
  require_at_least("batch", shape.batch, 1);
  KvShape one_token = shape;
  one_token.tokens = 1;
  return bytes / kv_capacity(one_token);
}

}  // namespace rapt
