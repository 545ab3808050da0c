// rapt profile: what every stage costs as n, d, g and text_len grow, in time and in exact counts, and whether
// the two grow alike.
#include <fmt/format.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <memory>

#include "commands.hpp"
#include "measure.hpp"
#include "plot.hpp"
#include "profile_report.hpp"
#include "profile_stages.hpp"
#include "progress.hpp"
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
  std::string range;  // FROM:TO
  std::vector<const char*> stages;
};

struct ProfileOptions {
  std::vector<Sweep> sweeps{
      {"n",
       &ProfileSize::n,
       "128:2048",
       {"2 projection", "3 scores", "4 weights", "5 output", "3-5 fused", "6 generation", "6 without cache"}},
      {"d",
       &ProfileSize::d,
       "32:512",
       {"2 projection", "3 scores", "4 weights", "5 output", "3-5 fused", "6 generation", "6 without cache"}},
      {"g", &ProfileSize::g, "4:64", {"6 generation", "6 without cache"}},
      {"text_len", &ProfileSize::text_len, "512:16384", {"1 one-hot"}}};
  ProfileSize base{.n = 512, .d = 64, .g = 16, .text_len = 64};
  int points = 7, repeats = 21;
  double budget = 80;
  std::string plot;
  Format format = Format::table;
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
template <class Stop>
double seconds_of(const ProfiledStage& stage, int repeats, const Stop& must_stop) {
  constexpr double least = 2e-3;
  stage.run();
  double best = 0;
  std::ptrdiff_t runs = 1;
  for (int repeat = 0; repeat < repeats && (repeat == 0 || !must_stop());) {
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

/// The least time of each stage at each size, taken in rounds over all sizes: a busy moment of the machine
/// then spoils one round and not a size.
class Measurement {
 public:
  explicit Measurement(const ProfileOptions& options)
      : options_(options), rounds_(std::min(options.repeats, most_rounds)), progress_(steps()) {
    for (const Sweep& sweep : options.sweeps) {
      for (const char* stage : sweep.stages) curves_.push_back({sweep.name, sweep.parameter, stage, {}});
    }
  }

  /// Of all, or of what there was time for.
  std::vector<Curve> run() {
    for (int round = 0; round < rounds_ && !must_stop(); ++round) {
      auto first = curves_.begin();
      for (const Sweep& sweep : options_.sweeps) {
        measure(sweep, &*first, (options_.repeats + round) / rounds_);
        first += std::ssize(sweep.stages);
      }
    }
    complete_ = !must_stop();
    return std::move(curves_);
  }
  bool is_complete() const { return complete_; }

 private:
  static constexpr int most_rounds = 7;

  std::size_t steps() const {
    std::size_t steps = 0;
    for (const Sweep& sweep : options_.sweeps)
      steps += sweep.stages.size() * sizes_of(sweep.range, options_.points).size();
    return steps * static_cast<std::size_t>(rounds_);
  }

  bool must_stop() const { return interrupted != 0 || progress_.elapsed() > options_.budget; }

  void measure(const Sweep& sweep, Curve* curves, int repeats) {
    for (const Size at : sizes_of(sweep.range, options_.points)) {
      if (must_stop()) return;
      ProfileSize size = options_.base;
      size.*sweep.parameter = at;
      const ProfiledStages stages(size);
      for (std::size_t c = 0; c < sweep.stages.size(); ++c) {
        if (must_stop()) return;
        progress_.step(fmt::format("{} = {}, stage {}", sweep.name, at, curves[c].stage));
        const ProfiledStage& stage = stages.named(curves[c].stage);
        curves[c].add(
            {at, seconds_of(stage, repeats, [&] { return must_stop(); }), stage.operations, stage.bytes});
      }
    }
  }

  const ProfileOptions& options_;
  int rounds_;
  Progress progress_;
  std::vector<Curve> curves_;
  bool complete_ = false;
};

void print(const std::vector<Curve>& curves, const ProfileOptions& options) {
  switch (options.format) {
    case Format::table:
      return write_output(in_words(curves, options.base, options.repeats));
    case Format::csv:
      return write_output(to_csv(points_table(curves, options.base)));
    case Format::json:
      return write_output(to_json(points_table(curves, options.base)));
  }
}

void profile(const ProfileOptions& options) {
  if (!options.plot.empty()) check_plot(options.plot);
  // The second one ends the program as ever.
  std::signal(SIGINT, [](int) {
    interrupted = 1;
    std::signal(SIGINT, SIG_DFL);
  });
  std::vector<Curve> curves;
  bool complete = false;
  tbb::task_arena(1).execute([&] {
    Measurement measurement(options);
    curves = measurement.run();
    complete = measurement.is_complete();
  });
  std::signal(SIGINT, SIG_DFL);
  print(curves, options);
  if (!complete) {
    const std::string why = interrupted != 0 ? "interrupted" : "the time budget is used up (--budget)";
    const std::string line = "rapt: " + why + ": this is what was measured so far\n";
    static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  }
  if (!options.plot.empty()) draw(options.plot, plot_commands(curves, options.plot));
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
                     : "expected FROM:TO with 1 <= FROM < TO <= 16384 and room for a size between, got '" +
                           range + "'";
        })
        ->type_name("FROM:TO");
  }
  command->add_option("--points", options->points, "Sizes of each sweep, 3 to 100 (default 7)")
      ->check(in_range(3, 100))
      ->type_name("N");
  command
      ->add_option("--repeats", options->repeats,
                   "Measurements of each, 1 to 1000, of which the least counts (default 21)")
      ->check(in_range(1, 1000))
      ->type_name("N");
  command->add_option("--budget", options->budget, "Seconds after which it tells what it has (default 80)")
      ->check(in_range(0.001, 1e6))
      ->type_name("S");
  add_plot(*command, options->plot, "Also draw the curves");
  add_formats(*command, options->format);
  add_manual(*command, "", {"rapt profile --budget 5", "rapt profile --budget 5 --csv > profile.csv"});
  command->callback([options] { profile(*options); });
}

}  // namespace rapt::cli
