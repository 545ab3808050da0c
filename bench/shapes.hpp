// The shapes a benchmark runs over, and the name that each gets.
#pragma once

#include <rapt/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rapt::bench {

enum class Dtype { f64, f32, bf16, f16 };

inline const char* name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return "f64";
    case Dtype::f32:
      return "f32";
    case Dtype::bf16:
      return "bf16";
    case Dtype::f16:
      return "f16";
  }
  return "";
}
inline const char* name_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fused ? "fused" : "textbook";
}

struct Shape {
  std::ptrdiff_t n = 64;  // tokens of the prompt; the context of a decode step
  std::ptrdiff_t d = 64;  // components of a head
  std::ptrdiff_t g = 32;  // generated rows
  std::ptrdiff_t heads = 1;
  std::ptrdiff_t kv_heads = 1;
  std::ptrdiff_t batch = 1;
  Dtype dtype = Dtype::f64;  // of K and V; queries and sums of bf16 and f16 are f32
  Arithmetic arithmetic = Arithmetic::fused;
  int threads = 1;

  /// (row, key) pairs that a causal prompt of one head sees.
  double causal_pairs() const { return static_cast<double>(n) * static_cast<double>(n + 1) / 2; }
};

/// "stage2/projection/n:64/d:64/...": what --benchmark_filter and every report know the benchmark by.
inline std::string name_of(const std::string& path, const Shape& shape) {
  const auto field = [](const char* key, auto value) {
    return std::string("/") + key + ":" + std::to_string(value);
  };
  return path + field("n", shape.n) + field("d", shape.d) + field("g", shape.g) +
         field("heads", shape.heads) + field("kv_heads", shape.kv_heads) + field("batch", shape.batch) +
         "/dtype:" + name_of(shape.dtype) + "/arithmetic:" + name_of(shape.arithmetic) +
         field("threads", shape.threads);
}

/// Seeded numbers in [-1, 1) for an array: the same for every run, different for every stream.
template <class T>
std::vector<T> random_array(std::ptrdiff_t count, std::uint64_t stream) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uint64_t state = stream * 0x9e3779b97f4a7c15U;
  for (T& value : values) {
    std::uint64_t x = state += 0x9e3779b97f4a7c15U;  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    value = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(x ^ (x >> 31)) >> 11) * 0x1p-52);
  }
  return values;
}

}  // namespace rapt::bench
