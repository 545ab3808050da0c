#include "capacity_plan.hpp"

#include <fmt/format.h>
#include <rapt/error.hpp>

#include <limits>
#include <map>
#include <new>

#include "table.hpp"

namespace rapt::cli {
namespace {

using Size = std::ptrdiff_t;

struct Dtype {
  KvDtype cache;
  Size itemsize;
};
const std::map<std::string, Dtype>& dtypes() {
  static const std::map<std::string, Dtype> all{{"f64", {KvDtype::f64, 8}},
                                                {"f32", {KvDtype::f32, 4}},
                                                {"bf16", {KvDtype::bf16, 2}},
                                                {"f16", {KvDtype::f16, 2}}};
  return all;
}

}  // namespace

std::string shape_in_words(const CapacityQuestion& question) {
  const std::string values =
      question.v_dim == question.head_dim ? "" : fmt::format(" (values {})", question.v_dim);
  return fmt::format("{}, {} ({} of keys and values), head dim {}{}, {}, {}",
                     counted(question.layers, "layer"), counted(question.heads, "head"), question.kv_heads,
                     question.head_dim, values, question.dtype, counted(question.batch, "sequence"));
}

Plan::Plan(const CapacityQuestion& question, const char* kind, Size kv_heads)
    : kind_(kind),
      shape_{.batch = question.batch,
             .n_kv_heads = kv_heads,
             .tokens = 1,
             .head_dim = question.head_dim,
             .v_dim = question.v_dim,
             .layers = question.layers,
             .itemsize = dtypes().at(question.dtype).itemsize},
      cache_{.batch = question.batch,
             .n_kv_heads = kv_heads,
             .head_dim = question.head_dim,
             .v_dim = question.v_dim,
             .capacity = 1,
             .window = std::nullopt,
             .dtype = dtypes().at(question.dtype).cache} {}

void Plan::refuse(Size tokens) const {
  throw invalid_input(fmt::format(
      "a cache of {}, {}, {} of keys and values, head dim {}, v dim {} and {} is more than {} bytes",
      counted(shape_.layers, "layer"), counted(shape_.batch, "sequence"), counted(shape_.n_kv_heads, "head"),
      shape_.head_dim, *shape_.v_dim, counted(tokens, "token"), std::numeric_limits<Size>::max()));
}

Size Plan::payload(Size tokens) const {
  KvShape shape = shape_;
  shape.tokens = tokens;
  try {
    return kv_capacity(shape);
  } catch (const invalid_input&) {
    refuse(tokens);
  }
}

Size Plan::allocated(Size tokens) const {
  if (tokens == 0) return 0;
  KvCacheOptions cache = cache_;
  cache.capacity = tokens;
  Size bytes = 0;
  try {
    if (!__builtin_mul_overflow(kv_cache_bytes(cache), shape_.layers, &bytes)) return bytes;
  } catch (const std::bad_alloc&) {
    // One layer's do not fit 64 bits.
  }
  refuse(tokens);
}

bool Plan::fits(Size tokens, Size bytes) const {
  try {
    return allocated(tokens) <= bytes;
  } catch (const invalid_input&) {
    return false;
  }
}

Size Plan::payload_tokens(Size bytes) const { return bytes / payload(1); }

Size Plan::allocated_tokens(Size bytes) const {
  // What is allocated is at least the payload, so no more tokens than those fit.
  Size least = 0, most = payload_tokens(bytes);
  while (least < most) {
    const Size middle = most - (most - least) / 2;
    if (fits(middle, bytes)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

std::vector<Plan> plans_of(const CapacityQuestion& question) {
  std::vector<Plan> all{{question, "MHA", question.heads}};
  if (question.kv_heads > 1 && question.kv_heads < question.heads)
    all.emplace_back(question, "GQA", question.kv_heads);
  if (question.heads > 1) all.emplace_back(question, "MQA", 1);
  return all;
}

}  // namespace rapt::cli
