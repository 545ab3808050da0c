// rapt profile: what every stage costs as n, d, g and text_len grow, in time and in exact counts, and whether
// the two grow alike.
#include <fmt/format.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>

#include "commands.hpp"
#include "measure.hpp"
#include "plot.hpp"
#include "profile_report.hpp"
#include "profile_stages.hpp"
#include "streams.hpp"
#include "table.hpp"

namespace rapt::cli {
namespace {

using Size = std::ptrdiff_t;

volatile std::sig_atomic_t interrupted = 0;

/// A swept parameter: its sizes, and the stages whose cost it is said to govern.
struct Sweep {
  const char* name;
  Size ProfileSize::*parameter;
  std::string range;                                        // FROM:TO
  std::vector<std::pair<const char*, const char*>> stages;  // and their growth in words
};

struct ProfileOptions {
  std::vector<Sweep> sweeps{
      {"n",
       &ProfileSize::n,
       "128:2048",
       {{"2 projection", "3 n d^2"},
        {"3 scores", "n^2 d / 2"},
        {"4 weights", "n^2 / 2"},
        {"5 output", "n^2 d / 2"},
        {"3-5 fused", "n^2 d"},
        {"6 generation", "3 g d^2 + 2 g (n+g) d"},
        {"6 without cache", "2 g (n+g) d^2"}}},
      {"d",
       &ProfileSize::d,
       "32:512",
       {{"2 projection", "3 n d^2"},
        {"3 scores", "n^2 d / 2"},
        {"5 output", "n^2 d / 2"},
        {"3-5 fused", "n^2 d"},
        {"6 generation", "3 g d^2 + 2 g (n+g) d"},
        {"6 without cache", "2 g (n+g) d^2"}}},
      {"g",
       &ProfileSize::g,
       "4:64",
       {{"6 generation", "3 g d^2 + 2 g (n+g) d"}, {"6 without cache", "2 g (n+g) d^2"}}},
      {"text_len", &ProfileSize::text_len, "64:1024", {{"1 one-hot", "unique^2 printed"}}}};
  ProfileSize base{.n = 512, .d = 64, .g = 16, .text_len = 64};
  int points = 7, repeats = 9;
  double budget = 80;
  std::string plot;
  Format format = Format::table;
};

/// How much is done, and how long the rest takes, on a terminal.
class Progress {
 public:
  Progress(std::size_t total, double budget) : total_(total), budget_(budget) {}
  ~Progress() {
    if (shown_) static_cast<void>(!write(STDERR_FILENO, "\r\033[K", 4));
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  bool must_stop() const { return interrupted != 0 || elapsed() > budget_; }
  void step(const std::string& what) {
    const double share = static_cast<double>(done_++) / static_cast<double>(total_);
    if (isatty(STDERR_FILENO) == 0) return;
    const auto bars = static_cast<std::size_t>(share * 30);
    std::string line = fmt::format("\r\033[K[{}{}] {:3.0f} %  {}", std::string(bars, '#'),
                                   std::string(30 - bars, '.'), share * 100, what);
    if (share > 0.05) line += fmt::format(", {:.0f} s left", elapsed() / share - elapsed());
    shown_ = write(STDERR_FILENO, line.data(), line.size()) > 0 || shown_;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t total_, done_ = 0;
  double budget_;
  bool shown_ = false;
};

/// FROM:TO in equal ratios, whole numbers, each once.
std::vector<Size> sizes_of(const std::string& range, int points) {
  const std::size_t colon = range.find(':');
  const auto number = [&](std::size_t begin, std::size_t end) {
    Size value = 0;
    const auto [stop, error] = std::from_chars(range.data() + begin, range.data() + end, value);
    return error == std::errc{} && stop == range.data() + end ? value : 0;
  };
  const Size from = colon == std::string::npos ? 0 : number(0, colon);
  const Size to = colon == std::string::npos ? 0 : number(colon + 1, range.size());
  if (from < 1 || to <= from || to > 16384) return {};
  std::vector<Size> sizes;
  for (int i = 0; i < points; ++i) {
    const double share = static_cast<double>(i) / (points - 1);
    const auto size = std::llround(static_cast<double>(from) *
                                   std::pow(static_cast<double>(to) / static_cast<double>(from), share));
    if (sizes.empty() || size > sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

/// The least CPU time of one run among the repeats, each long enough for the clock; fewer when it must stop.
double seconds_of(const ProfiledStage& stage, int repeats, const Progress& progress) {
  constexpr double least = 2e-3;
  stage.run();
  double best = 0;
  std::ptrdiff_t runs = 1;
  for (int repeat = 0; repeat < repeats && (repeat == 0 || !progress.must_stop());) {
    const double start = measure::thread_cpu_seconds();
    for (std::ptrdiff_t i = 0; i < runs; ++i) stage.run();
    const double seconds = measure::thread_cpu_seconds() - start;
    if (seconds < least && repeat == 0) {
      runs *= 2;
      continue;
    }
    const double one = seconds / static_cast<double>(runs);
    best = repeat == 0 ? one : std::min(best, one);
    ++repeat;
  }
  return best;
}

/// Measures all, or what it can until it must stop.
std::vector<Curve> measure_all(const ProfileOptions& options, bool& complete) {
  std::vector<Curve> curves;
  std::size_t total = 0;
  for (const Sweep& sweep : options.sweeps)
    total += sweep.stages.size() * sizes_of(sweep.range, options.points).size();
  Progress progress(total, options.budget);
  complete = false;
  for (const Sweep& sweep : options.sweeps) {
    const std::size_t first = curves.size();
    for (const auto& [stage, formula] : sweep.stages)
      curves.push_back({sweep.name, sweep.parameter, stage, formula, {}});
    for (const Size at : sizes_of(sweep.range, options.points)) {
      ProfileSize size = options.base;
      size.*sweep.parameter = at;
      const ProfiledStages stages(size);
      for (std::size_t c = first; c < curves.size(); ++c) {
        if (progress.must_stop()) return curves;
        progress.step(fmt::format("{} = {}, stage {}", sweep.name, at, curves[c].stage));
        const auto stage =
            std::find_if(stages.all().begin(), stages.all().end(),
                         [&](const ProfiledStage& one) { return one.name == curves[c].stage; });
        curves[c].points.push_back({at, seconds_of(*stage, options.repeats, progress), stage->operations});
      }
    }
  }
  complete = true;
  return curves;
}

void profile(const ProfileOptions& options) {
  std::signal(SIGINT, [](int) { interrupted = 1; });
  bool complete = false;
  std::vector<Curve> curves;
  tbb::task_arena(1).execute([&] { curves = measure_all(options, complete); });
  std::signal(SIGINT, SIG_DFL);
  switch (options.format) {
    case Format::table:
      write_output(in_words(curves, options.base, options.repeats));
      break;
    case Format::csv:
      write_output(to_csv(points_table(curves, options.base)));
      break;
    case Format::json:
      write_output(to_json(points_table(curves, options.base)));
      break;
  }
  if (!complete) {
    const std::string why = interrupted != 0 ? "interrupted" : "the time budget is used up (--budget)";
    const std::string line = "rapt: " + why + ": these are the sizes measured so far\n";
    static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  }
  if (!options.plot.empty()) run_gnuplot(plot_commands(curves, options.plot));
}

}  // namespace

void add_profile(CLI::App& app) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand("profile", "Time and count every stage as its sizes grow");
  for (Sweep& sweep : options->sweeps) {
    std::string option = std::string("--") + sweep.name;
    std::replace(option.begin(), option.end(), '_', '-');
    command->add_option(option, sweep.range, fmt::format("Sizes of its sweep (default {})", sweep.range))
        ->check([](const std::string& range) {
          return sizes_of(range, 3).size() == 3
                     ? ""
                     : "expected FROM:TO with 1 <= FROM < TO <= 16384, got '" + range + "'";
        })
        ->type_name("FROM:TO");
  }
  command->add_option("--points", options->points, "Sizes of each sweep, 3 to 100 (default 7)")
      ->check(wordless(CLI::Range(3, 100)))
      ->type_name("N");
  command
      ->add_option("--repeats", options->repeats,
                   "Measurements of each, 1 to 1000, of which the least counts (default 9)")
      ->check(wordless(CLI::Range(1, 1000)))
      ->type_name("N");
  command->add_option("--budget", options->budget, "Seconds after which it tells what it has (default 80)")
      ->check(wordless(CLI::PositiveNumber))
      ->type_name("S");
  command->add_option("--plot", options->plot, "Also draw the curves, with gnuplot (package gnuplot-nox)")
      ->check([](const std::string& name) {
        return name.ends_with(".svg") || name.ends_with(".png")
                   ? ""
                   : "expected a name in .svg or .png, got '" + name + "'";
      })
      ->type_name("OUT.svg|OUT.png");
  add_formats(*command, options->format);
  add_manual(*command, "", {"rapt profile --budget 5", "rapt profile --budget 5 --csv > profile.csv"});
  command->callback([options] { profile(*options); });
}

}  // namespace rapt::cli
