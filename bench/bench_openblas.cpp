// bench_openblas: fused attention against OpenBLAS GEMM + softmax, in turn in one process, on one thread.
// Built when OpenBLAS is found (Debian: libopenblas-dev). Takes Google Benchmark's flags.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <unistd.h>
#include <rapt/attention.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "dispatch.hpp"
#include "measure.hpp"
#include "openblas_attention.hpp"
#include "results.hpp"
#include "shapes.hpp"

namespace rapt::bench {
namespace {

using Size = std::ptrdiff_t;

template <class T>
class Comparison {
 public:
  explicit Comparison(const Shape& shape)
      : shape_(shape),
        q_(random_array<T>(shape.heads * head_size(), 1)),
        k_(random_array<T>(shape.kv_heads * head_size(), 2)),
        v_(random_array<T>(shape.kv_heads * head_size(), 3)),
        ours_(q_.size()),
        theirs_(q_.size()),
        scratch_(static_cast<std::size_t>(openblas_block_rows * shape.n)) {}

  void run_rapt() {
    const auto view = [&](auto& array, Size heads) {
      return contiguous(array.data(), {Size{1}, heads, shape_.n, shape_.d});
    };
    AttentionOptions<T> options;
    options.causal = Causal::top_left;
    const auto& q = q_;
    const auto& k = k_;
    const auto& v = v_;
    attention(view(q, shape_.heads), view(k, shape_.kv_heads), view(v, shape_.kv_heads),
              view(ours_, shape_.heads), options);
  }
  void run_openblas() {
    const Size group = shape_.heads / shape_.kv_heads;
    for (Size h = 0; h < shape_.heads; ++h) {
      const Size q = h * head_size(), kv = h / group * head_size();
      openblas_attention(q_.data() + q, k_.data() + kv, v_.data() + kv, theirs_.data() + q, scratch_.data(),
                         shape_.n, shape_.d);
    }
  }

  /// Both are attention: each is within the bound of props/README.md of the exact value (|v| < 1, |q k|
  /// summed at most sqrt(d)), with sums as long as the row in OpenBLAS's case.
  bool agree() const {
    const double d = static_cast<double>(shape_.d), n = static_cast<double>(shape_.n);
    const double bound =
        (2 * n + 2 * (d + 4) * std::sqrt(d) + 32) * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (std::size_t i = 0; i < ours_.size(); ++i) {
      if (!(std::abs(static_cast<double>(ours_[i] - theirs_[i])) <= bound)) return false;
    }
    return true;
  }
  double flop() const { return 4 * static_cast<double>(shape_.d * shape_.heads) * shape_.causal_pairs(); }

 private:
  Size head_size() const { return shape_.n * shape_.d; }

  Shape shape_;
  std::vector<T> q_, k_, v_, ours_, theirs_, scratch_;
};

template <class T>
void compare(benchmark::State& state, const Shape& shape) {
  Comparison<T> both(shape);
  both.run_rapt();
  both.run_openblas();
  if (!both.agree()) return state.SkipWithError("rapt and OpenBLAS do not agree");
  double ours = 0, theirs = 0, peak = measure::fma_peak<T>();
  for (auto _ : state) {
    const double start = measure::thread_cpu_seconds();
    both.run_rapt();
    const double middle = measure::thread_cpu_seconds();
    both.run_openblas();
    ours += middle - start;
    theirs += measure::thread_cpu_seconds() - middle;
  }
  peak = (peak + measure::fma_peak<T>()) / 2;
  const double flop = both.flop() * static_cast<double>(state.iterations());
  state.counters["peak_share"] = flop / ours / peak;
  state.counters["openblas_peak_share"] = flop / theirs / peak;
  state.counters["vs_openblas"] = theirs / ours;
}

void add(Shape shape) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    shape.dtype = dtype;
    const std::string name = name_of("openblas", shape);
    benchmark::RegisterBenchmark(name.c_str(), [shape](benchmark::State& state) {
      if (shape.dtype == Dtype::f32) return compare<float>(state, shape);
      compare<double>(state, shape);
    });
  }
}

/// OpenBLAS reads OPENBLAS_CORETYPE as it is loaded, and without it takes a CPU that it does not know for an
/// old one. The peer gets its kernels for the ISA that this machine has, whatever the environment says.
void choose_core(char** argv) {
  const char* core = nullptr;
  for (const Isa& isa : compiled_isas()) {
    const std::string name = isa.table->name;
    if (!isa.runnable || core != nullptr) continue;
    core = name == "avx512" ? "SkylakeX" : name == "avx2" ? "Haswell" : nullptr;
  }
  const char* set = std::getenv("OPENBLAS_CORETYPE");
  if (core == nullptr || (set != nullptr && std::string(set) == core)) return;
  setenv("OPENBLAS_CORETYPE", core, 1);
  unsetenv("OPENBLAS_L2_SIZE");
  execv("/proc/self/exe", argv);
}

}  // namespace
}  // namespace rapt::bench

int main(int argc, char** argv) {
  rapt::bench::choose_core(argv);
  using rapt::bench::add;
  rapt::bench::take_flags(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  openblas_set_num_threads(1);
  benchmark::AddCustomContext("openblas_core", openblas_get_corename());
  for (const std::ptrdiff_t n : {64, 512, 2048}) {
    for (const std::ptrdiff_t d : {64, 128}) add({.n = n, .d = d, .heads = 8, .kv_heads = 8});
  }
  add({.n = 2048, .d = 128, .heads = 32, .kv_heads = 8});
  return rapt::bench::run_benchmarks("bench_openblas");
}
