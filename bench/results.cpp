#include "results.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

namespace rapt::bench {
namespace {

// The file of --benchmark_out and its format. Google Benchmark does not tell its flags, nor whether it could
// write the file.
std::string out_file, out_format;
bool file_is_whole = true;

/// A reporter that sees at the end whether all of its file was written.
template <class Reporter>
class Checked final : public Reporter {
 public:
  void Finalize() override {
    Reporter::Finalize();
    std::ostream& out = this->GetOutputStream();
    out.flush();
    file_is_whole = static_cast<bool>(out);
  }
};

std::unique_ptr<benchmark::BenchmarkReporter> file_reporter() {
  if (out_file.empty()) return nullptr;
  if (out_format == "console") return std::make_unique<Checked<benchmark::ConsoleReporter>>();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (out_format == "csv") return std::make_unique<Checked<benchmark::CSVReporter>>();
#pragma GCC diagnostic pop
  return std::make_unique<Checked<benchmark::JSONReporter>>();
}

/// The value of the last of such flags, else of the environment.
std::string flag(int argc, char** argv, std::string_view prefix, const char* variable) {
  const char* const set = std::getenv(variable);
  std::string value = set != nullptr ? set : "";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, prefix.size()) == prefix) value = argument.substr(prefix.size());
  }
  return value;
}

}  // namespace

void take_flags(int* argc, char** argv) {
  out_file = flag(*argc, argv, "--benchmark_out=", "BENCHMARK_OUT");
  out_format = flag(*argc, argv, "--benchmark_out_format=", "BENCHMARK_OUT_FORMAT");
  benchmark::Initialize(argc, argv);
}

int run_benchmarks(const char* program) {
  const std::unique_ptr<benchmark::BenchmarkReporter> to_file = file_reporter();
  const std::size_t chosen = benchmark::RunSpecifiedBenchmarks(nullptr, to_file.get());
  benchmark::Shutdown();
  if (chosen == 0) return 2;  // of a filter that chooses none Google Benchmark has told
  if (!file_is_whole) std::fprintf(stderr, "%s: %s: cannot be written\n", program, out_file.c_str());
  return output_is_whole(program) && file_is_whole ? 0 : 1;
}

bool output_is_whole(const char* program) {
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  std::fprintf(stderr, "%s: standard output: cannot be written\n", program);
  return false;
}

}  // namespace rapt::bench
