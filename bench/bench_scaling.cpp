// bench_scaling: how fused attention grows with the length T and with threads: time per visible pair should
// stay flat, with and without a window. Takes Google Benchmark's flags.
#include <benchmark/benchmark.h>
#include <rapt/attention.hpp>

#include <algorithm>
#include <string>
#include <thread>

#include "case.hpp"
#include "results.hpp"
#include "yardstick.hpp"

namespace rapt::bench {
namespace {

using Size = std::ptrdiff_t;

template <class T>
class LongCase final : public Case {
 public:
  LongCase(Size length, std::optional<Size> window)
      : length_(length), q_(values(1)), k_(values(2)), v_(values(3)), out_(q_.size()) {
    options_.causal = Causal::top_left;
    options_.window = window;
    pairs_ = static_cast<double>(call().visible_pairs);
    flop = 4 * pairs_ * static_cast<double>(head_dim);
  }
  std::string check() override { return ""; }  // bench_attention compares the same call with its definition
  void run() override { call(); }
  double pairs() const { return pairs_; }

 private:
  static constexpr Size heads = 2, head_dim = 64;

  std::vector<T> values(std::uint64_t stream) const {
    return random_array<T>(heads * length_ * head_dim, stream);
  }
  AttentionReport call() {
    const auto view = [&](auto& array) {
      return contiguous(array.data(), {Size{1}, heads, length_, head_dim});
    };
    return attention(view(q_), view(k_), view(v_), view(out_), options_);
  }

  Size length_;
  std::vector<T> q_, k_, v_, out_;
  AttentionOptions<T> options_;
  double pairs_ = 0;
};

template <class T>
void add(Dtype dtype, Size length, std::optional<Size> window, int threads) {
  const std::string name = "scaling/T:" + std::to_string(length) +
                           "/window:" + (window ? std::to_string(*window) : "none") +
                           "/dtype:" + name_of(dtype) + "/threads:" + std::to_string(threads);
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    LongCase<T> subject(length, window);
    time_case(state, subject, Shape{.dtype = dtype, .threads = threads});
    state.counters["ns_per_pair"] = subject.flop / state.counters["gflops"] / subject.pairs();
  });
}

}  // namespace
}  // namespace rapt::bench

int main(int argc, char** argv) {
  using rapt::bench::Dtype;
  rapt::bench::take_flags(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  for (int threads = 1; threads <= cores; threads *= 2) {
    for (const std::optional<std::ptrdiff_t> window :
         {std::optional<std::ptrdiff_t>(), std::optional<std::ptrdiff_t>(512)}) {
      for (std::ptrdiff_t length = 1024; length <= 32768; length *= 2) {
        rapt::bench::add<float>(Dtype::f32, length, window, threads);
        rapt::bench::add<double>(Dtype::f64, length, window, threads);
      }
    }
  }
  return rapt::bench::run_benchmarks("bench_scaling");
}
