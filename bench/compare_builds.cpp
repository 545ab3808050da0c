// compare_builds A.so B.so: the same calls of two builds of rapt in one process, in turn, and what B's time
// is of A's. The two of a pair see the same machine: one whose speed drifts by a fifth resolves a hundredth
// so.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "checked.hpp"
#include "measure.hpp"
#include "paired_call.hpp"
#include "shapes.hpp"

namespace rapt::bench {
namespace {

using Size = std::ptrdiff_t;

struct Options {
  std::array<std::string, 2> builds;
  std::vector<std::string> calls{"attention"}, dtypes{"f32", "f64"};
  std::vector<Size> n{64}, d{64};
  Size batch = 1, heads = 8, kv_heads = 0;
  int threads = 1;
  double seconds = 2;
};

void add_options(CLI::App& app, Options& options) {
  const CLI::Range size(Size{1}, Size{1} << 24);
  app.add_option("A", options.builds[0], "shared object of the first build")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("B", options.builds[1], "and of the second")->required()->check(CLI::ExistingFile);
  const std::vector<std::string> names(std::begin(paired_call_names), std::end(paired_call_names));
  app.add_option("--call", options.calls, "what is called (bench/README.md)")
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("--n", options.n, "tokens")->delimiter(',')->check(size)->capture_default_str();
  app.add_option("--d", options.d, "components of a head")
      ->delimiter(',')
      ->check(size)
      ->capture_default_str();
  app.add_option("--batch", options.batch, "sequences")->check(size)->capture_default_str();
  app.add_option("--heads", options.heads, "query heads")->check(size)->capture_default_str();
  app.add_option("--kv-heads", options.kv_heads, "key and value heads (default: as many)")->check(size);
  app.add_option("--dtype", options.dtypes, "f32 or f64")
      ->delimiter(',')
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--seconds", options.seconds, "of measuring, each call")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
}

PairedCall build_at(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  void* const entry = dlsym(library, "rapt_paired_call");
  if (entry == nullptr) throw std::runtime_error(path + ": no rapt_paired_call in it");
  return reinterpret_cast<PairedCallOf>(entry)();
}

template <class T>
std::vector<T> array_of(std::initializer_list<Size> extents, std::uint64_t stream) {
  const auto count = checked_product(extents);
  if (!count || !checked_product({*count, Size{sizeof(T)}}))
    throw std::runtime_error(
        fmt::format("an array of {} elements is more than memory", fmt::join(extents, " x ")));
  return random_array<T>(*count, stream);
}

/// One call of both builds over the same arrays.
template <class T>
class Pair {
 public:
  Pair(const std::array<PairedCall, 2>& builds, const std::string& call, const Options& o, Size n, Size d)
      : builds_(builds),
        threads_(o.threads),
        q_(array_of<T>({o.batch, o.heads, n, d}, 1)),
        k_(array_of<T>({o.batch, o.kv_heads, n, d}, 2)),
        v_(array_of<T>({o.batch, o.kv_heads, n, d}, 3)),
        transform_(array_of<T>({d, d}, 4)),
        out_(q_.size()) {
    if (call == "weights") weights_ = array_of<T>({o.batch, o.heads, n, n}, 5);
    const PairedProblem problem{.call = call.c_str(),
                                .f64 = std::is_same_v<T, double>,
                                .batch = o.batch,
                                .heads = o.heads,
                                .kv_heads = o.kv_heads,
                                .n = n,
                                .d = d,
                                .q = q_.data(),
                                .k = k_.data(),
                                .v = v_.data(),
                                .transform = transform_.data(),
                                .out = out_.data(),
                                .weights = weights_.empty() ? nullptr : weights_.data()};
    for (const PairedCall& build : builds_) {
      calls_.emplace_back(build.make(problem), build.drop);
      if (calls_.back() == nullptr)
        throw std::runtime_error("a build does not know the call \"" + call + "\"");
    }
  }

  /// Whether both leave the same bits in out and weights: what one does not write stays NaN.
  bool same_bits() {
    std::array<std::vector<T>, 2> results;
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::vector<T>* array : {&out_, &weights_})
        std::fill(array->begin(), array->end(), std::numeric_limits<T>::quiet_NaN());
      run(b);
      results[b] = out_;
      results[b].insert(results[b].end(), weights_.begin(), weights_.end());
    }
    return std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(T)) == 0;
  }

  /// Seconds of each build's call, one after the other; which is first changes from pair to pair.
  std::array<double, 2> times(Size pair, Size calls) {
    std::array<double, 2> seconds{};
    for (const std::size_t turn : {0U, 1U}) {
      const std::size_t b = (static_cast<std::size_t>(pair) + turn) % 2;
      const double start = now();
      for (Size i = 0; i < calls; ++i) run(b);
      seconds[b] = (now() - start) / static_cast<double>(calls);
    }
    return seconds;
  }

 private:
  void run(std::size_t b) { builds_[b].run(calls_[b].get()); }
  double now() const { return threads_ == 1 ? measure::thread_cpu_seconds() : measure::wall_seconds(); }

  std::array<PairedCall, 2> builds_;
  int threads_;
  std::vector<T> q_, k_, v_, transform_, out_, weights_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> calls_;
};

/// A median and its 95 % interval by order statistics, which asks nothing of how the values are distributed
/// but that they are independent.
struct Median {
  double value, from, to;

  explicit Median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const double last = static_cast<double>(values.size()) - 1, margin = 0.98 * std::sqrt(last + 1);
    const auto at = [&](double place) {
      return values[static_cast<std::size_t>(std::clamp(place, 0.0, last))];
    };
    value = at(last / 2);
    from = at(std::floor(last / 2 - margin));
    to = at(std::ceil(last / 2 + margin));
  }
};

template <class T>
bool compare(const std::array<PairedCall, 2>& builds, const std::string& call, Options options, Size n,
             Size d) {
  if (call == "step") options.batch = options.heads = options.kv_heads = 1;
  Pair<T> pair(builds, call, options, n, d);
  const bool same = pair.same_bits();
  // So many calls that reading the clock is nothing beside them.
  constexpr double least_seconds = 1e-4;
  const Size calls = 1 + static_cast<Size>(least_seconds / std::max(pair.times(0, 1)[0], 1e-9));
  std::vector<double> a, b, ratios;
  const double start = measure::wall_seconds();
  while (ratios.size() < 10 || measure::wall_seconds() - start < options.seconds) {
    const auto [seconds_a, seconds_b] = pair.times(static_cast<Size>(ratios.size()), calls);
    a.push_back(seconds_a), b.push_back(seconds_b), ratios.push_back(seconds_b / seconds_a);
  }
  const Median ratio(std::move(ratios));
  fmt::print("{:<10} {:>6} {:>5} {:>5} {:>12.2f} {:>12.2f} {:>8.3f} {:>7.3f} {:>7.3f} {:>7} {}\n", call, n, d,
             std::is_same_v<T, double> ? "f64" : "f32", Median(a).value * 1e6, Median(b).value * 1e6,
             ratio.value, ratio.from, ratio.to, a.size(), same ? "same" : "DIFFERENT");
  if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write the results");
  return same;
}

bool compare_all(const Options& options) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(options.threads));
  const std::array builds{build_at(options.builds[0]), build_at(options.builds[1])};
  fmt::print("{:<10} {:>6} {:>5} {:>5} {:>12} {:>12} {:>8} {:>15} {:>7} {}\n", "call", "n", "d", "dtype",
             "A, us", "B, us", "B / A", "95 % from, to", "pairs", "bits");
  bool same = true;
  tbb::task_arena(options.threads).execute([&] {
    for (const std::string& call : options.calls)
      for (const Size n : options.n)
        for (const Size d : options.d)
          for (const std::string& dtype : options.dtypes)
            same &= dtype == "f64" ? compare<double>(builds, call, options, n, d)
                                   : compare<float>(builds, call, options, n, d);
  });
  return same;
}

}  // namespace
}  // namespace rapt::bench

int main(int argc, char** argv) {
  using namespace rapt::bench;
  CLI::App app{
      "Time the same calls of two builds of rapt in turn. Exit status: 0 the same bits; 1 different bits; 2 "
      "an error."};
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.kv_heads == 0) options.kv_heads = options.heads;
  try {
    if (!std::isfinite(options.seconds)) throw std::runtime_error("--seconds is not finite");
    if (options.heads % options.kv_heads != 0)
      throw std::runtime_error(
          fmt::format("--kv-heads {} does not divide --heads {}", options.kv_heads, options.heads));
    return compare_all(options) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "compare_builds: {}\n", error.what());
    return 2;
  }
}
