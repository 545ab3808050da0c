// rapt run: the staged program from a file or standard input to standard output.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <rapt/pipeline.hpp>

#include <memory>

#include "commands.hpp"
#include "streams.hpp"

namespace rapt::cli {
namespace {

struct RunOptions {
  std::string file;
  std::string arithmetic = "textbook";
  bool unbounded = false;
  int threads = 0;
  std::vector<std::string> stages;  // each a LIST
};

/// "2,6"; nothing when it is no such list.
std::vector<int> stages_in(const std::string& list) {
  std::vector<int> stages;
  for (std::size_t at = 0; at <= list.size(); at += 2) {
    const int stage = at < list.size() ? list[at] - '0' : 0;
    const bool ends_well = at + 1 >= list.size() || list[at + 1] == ',';
    if (stage < 1 || stage > pipeline::Stages::count || !ends_well) return {};
    stages.push_back(stage);
    if (at + 1 == list.size()) break;
  }
  return stages;
}

void compute_and_print(const RunOptions& options) {
  InputFile file(options.file == "-" ? "" : options.file);
  const auto source = [&](char* buffer, std::size_t size) { return file.read(buffer, size); };
  const pipeline::Input input =
      pipeline::parse(source, options.unbounded ? pipeline::Limits::unbounded : pipeline::Limits::assignment);
  const pipeline::Result result =
      pipeline::run(input, options.arithmetic == "fused" ? Arithmetic::fused : Arithmetic::textbook);
  auto stages = options.stages.empty() ? pipeline::Stages::all() : pipeline::Stages::none();
  for (const std::string& list : options.stages) {
    for (const int stage : stages_in(list)) stages = stages.with(stage);
  }
  const auto sink = [](std::string_view chunk) { return write_output(chunk), true; };
  static_cast<void>(pipeline::print(input, result, sink, stages));  // the sink throws its failures
}

void run(const RunOptions& options) {
  if (options.threads == 0) return compute_and_print(options);
  // Without the control, TBB keeps to the number of cores whatever the arena says.
  const tbb::global_control at_least(
      tbb::global_control::max_allowed_parallelism,
      static_cast<std::size_t>(std::max(options.threads, tbb::this_task_arena::max_concurrency())));
  tbb::task_arena(options.threads).execute([&] { compute_and_print(options); });
}

}  // namespace

void add_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run the staged program: read a text, print its six stages");
  command->add_option("FILE", options->file, "The text; standard input when absent or -")
      ->check(not_empty)
      ->type_name("");
  command
      ->add_option("--arithmetic", options->arithmetic,
                   "textbook (default): the bits of the plain loops; fused: the engine's own, faster")
      ->check(one_of({"textbook", "fused"}))
      ->type_name("textbook|fused");
  command->add_flag("--unbounded", options->unbounded, "Lift the limits on n, d, g and text_len");
  command->add_option("--threads", options->threads, "Threads to use, 1 to 1024 (default: the cores)")
      ->check(in_range(1, 1024))
      ->type_name("N");
  command->add_option("--stages", options->stages, "Print only these of the stages 1 to 6, such as 2,6")
      ->allow_extra_args(false)
      ->check([](const std::string& list) {
        return stages_in(list).empty() ? "expected stages from 1 to 6 such as 2,6, got '" + list + "'" : "";
      })
      ->type_name("LIST");
  add_manual(*command, input_manual,
             {"rapt generate --seed 1 > input.txt", "rapt run input.txt",
              "rapt run --stages 6 --arithmetic fused < input.txt"});
  command->callback([options] { run(*options); });
}

}  // namespace rapt::cli
