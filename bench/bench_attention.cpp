// bench_attention: every stage and every whole path, checked against the oracle once, then timed beside the
// machine's own limits and a textbook loop. Every option takes a comma list and all combinations run; Google
// Benchmark's own flags are passed on.
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <set>

#include "case.hpp"
#include "results.hpp"
#include "yardstick.hpp"

namespace rapt::bench {
namespace {

/// Every path by its name: which shapes have it, and how its case is made.
struct Path {
  std::string name;
  bool (*has)(const std::string& path, const Shape& shape);
  std::unique_ptr<Case> (*make)(const std::string& path, const Shape& shape);
};

const Path paths[] = {
    {"stage2/projection", has_stage_case, make_stage_case},
    {"stage3/scores", has_stage_case, make_stage_case},
    {"stage4/weights", has_stage_case, make_stage_case},
    {"stage5/output", has_stage_case, make_stage_case},
    {"stage6/decode", has_stage_case, make_stage_case},
    {"pipeline", has_stage_case, make_stage_case},
    {"fused", has_attention_case, make_attention_case},
    {"fused_weights", has_attention_case, make_attention_case},
    {"decode", has_attention_case, make_attention_case},
    {"step", has_step_case, make_step_case},
};

struct Options {
  std::vector<std::ptrdiff_t> n{64}, d{64}, g{32}, heads{1}, kv_heads, batch{1};
  std::vector<int> threads{1};
  std::vector<std::string> dtype{"f64"}, arithmetic{"textbook", "fused"};
};

void add_options(CLI::App& app, Options& options) {
  const auto sizes = [&](const char* name, auto& into, const char* what, std::ptrdiff_t least = 1) {
    app.add_option(name, into, what)
        ->delimiter(',')
        ->check(CLI::Range(least, std::ptrdiff_t{1} << 24))
        ->capture_default_str();
  };
  sizes("--n", options.n, "tokens of the prompt; the context of a decode step");
  sizes("--d", options.d, "components of a head");
  sizes("--g", options.g, "generated rows", 0);
  sizes("--heads", options.heads, "query heads");
  sizes("--kv-heads", options.kv_heads, "key and value heads (default: as many as query heads)");
  sizes("--batch", options.batch, "sequences");
  app.add_option("--dtype", options.dtype, "f64, f32, bf16 or f16")
      ->delimiter(',')
      ->check(CLI::IsMember({"f64", "f32", "bf16", "f16"}))
      ->capture_default_str();
  app.add_option("--arithmetic", options.arithmetic, "textbook or fused")
      ->delimiter(',')
      ->check(CLI::IsMember({"textbook", "fused"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

Dtype dtype_of(const std::string& name) {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16}) {
    if (name == name_of(dtype)) return dtype;
  }
  return Dtype::f16;
}

std::vector<Shape> shapes_of(const Options& options) {
  std::vector<Shape> shapes{Shape{}};
  // One axis after the other: each shape so far with each value.
  const auto sweep = [&](const auto& values, auto assign) {
    std::vector<Shape> swept;
    for (const Shape& shape : shapes) {
      for (const auto& value : values) assign(swept.emplace_back(shape), value);
    }
    shapes = std::move(swept);
  };
  sweep(options.n, [](Shape& shape, std::ptrdiff_t n) { shape.n = n; });
  sweep(options.d, [](Shape& shape, std::ptrdiff_t d) { shape.d = d; });
  sweep(options.g, [](Shape& shape, std::ptrdiff_t g) { shape.g = g; });
  sweep(options.heads, [](Shape& shape, std::ptrdiff_t heads) { shape.heads = shape.kv_heads = heads; });
  if (!options.kv_heads.empty())
    sweep(options.kv_heads, [](Shape& shape, std::ptrdiff_t heads) { shape.kv_heads = heads; });
  sweep(options.batch, [](Shape& shape, std::ptrdiff_t batch) { shape.batch = batch; });
  sweep(options.dtype, [](Shape& shape, const std::string& dtype) { shape.dtype = dtype_of(dtype); });
  sweep(options.arithmetic, [](Shape& shape, const std::string& arithmetic) {
    shape.arithmetic = arithmetic == "fused" ? Arithmetic::fused : Arithmetic::textbook;
  });
  sweep(options.threads, [](Shape& shape, int threads) { shape.threads = threads; });
  return shapes;
}

bool any_wrong = false;

/// The case of the benchmark that runs now. Google Benchmark calls a benchmark several times to find its
/// number of iterations: data and check are made for the first of them, and freed when the next benchmark
/// begins.
Case* case_for(const std::string& name, const Path& path, const Shape& shape, std::string& wrong) {
  static std::string current;
  static std::unique_ptr<Case> subject;
  static std::string difference;
  if (current != name) {
    subject.reset();
    subject = path.make(path.name, shape);
    current = name;
    difference = subject->check();
    any_wrong = any_wrong || !difference.empty();
  }
  wrong = difference;
  return subject.get();
}

void register_all(const Options& options) {
  std::set<std::string> names;
  for (const Shape& shape : shapes_of(options)) {
    if (shape.heads % shape.kv_heads != 0) {
      throw CLI::ValidationError("--kv-heads", std::to_string(shape.kv_heads) + " does not divide --heads " +
                                                   std::to_string(shape.heads));
    }
    for (const Path& path : paths) {
      const std::string name = name_of(path.name, shape);
      if (!path.has(path.name, shape) || !names.insert(name).second) continue;
      const auto run = [name, &path, shape](benchmark::State& state) {
        std::string wrong;
        Case* subject = case_for(name, path, shape, wrong);
        if (!wrong.empty()) return state.SkipWithError(("not what the oracle gives: " + wrong).c_str());
        time_case(state, *subject, shape);
      };
      benchmark::RegisterBenchmark(name.c_str(), run);
    }
  }
  if (names.empty()) {
    throw CLI::ValidationError("no path has a case of --n " + CLI::detail::join(options.n) + " --dtype " +
                               CLI::detail::join(options.dtype) + " --arithmetic " +
                               CLI::detail::join(options.arithmetic) +
                               ": bf16 and f16 need --arithmetic fused, and textbook --n of at most 4096");
  }
}

int main(int argc, char** argv) {
  CLI::App app{
      "Times every stage and every path of attention. Each option takes a comma list; all combinations run.\n"
      "Flags that begin with --benchmark_ go to Google Benchmark, for example --benchmark_filter=fused."};
  app.name("bench_attention");
  Options options;
  add_options(app, options);
  app.allow_extras();
  try {
    app.parse(argc, argv);
    std::vector<std::string> rest = app.remaining();
    std::vector<char*> flags{argv[0]};
    for (std::string& flag : rest) flags.push_back(flag.data());
    int count = static_cast<int>(flags.size());
    take_flags(&count, flags.data());
    if (count > 1) throw CLI::ExtrasError({flags[1]});
    register_all(options);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return output_is_whole("bench_attention") ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "bench_attention: %s\n", error.what());
    return 2;
  }
  const int status = run_benchmarks("bench_attention");
  return status == 0 && any_wrong ? 1 : status;
}

}  // namespace
}  // namespace rapt::bench

int main(int argc, char** argv) {
  try {
    return rapt::bench::main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_attention: %s\n", error.what());
    return 2;
  }
}
