// rapt run: the staged program from a file or standard input to standard output.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <rapt/pipeline.hpp>

#include <map>
#include <memory>

#include "commands.hpp"
#include "streams.hpp"

namespace rapt::cli {
namespace {

struct RunOptions {
  std::string file;
  Arithmetic arithmetic = Arithmetic::textbook;
  bool unbounded = false;
  int threads = 0;
  std::vector<int> stages;
};

void compute_and_print(const RunOptions& options) {
  InputFile file(options.file == "-" ? "" : options.file);
  const auto source = [&](char* buffer, std::size_t size) { return file.read(buffer, size); };
  const pipeline::Input input =
      pipeline::parse(source, options.unbounded ? pipeline::Limits::unbounded : pipeline::Limits::assignment);
  const pipeline::Result result = pipeline::run(input, options.arithmetic);
  auto stages = options.stages.empty() ? pipeline::Stages::all() : pipeline::Stages::none();
  for (const int stage : options.stages) stages = stages.with(stage);
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
  static const std::map<std::string, Arithmetic> arithmetics{{"textbook", Arithmetic::textbook},
                                                             {"fused", Arithmetic::fused}};
  command
      ->add_option("--arithmetic", options->arithmetic,
                   "textbook (default): the bits of the plain loops; fused: the engine's own, faster")
      ->transform(wordless(CLI::CheckedTransformer(arithmetics)))
      ->type_name("textbook|fused");
  command->add_flag("--unbounded", options->unbounded, "Lift the limits on n, d, g and text_len");
  command->add_option("--threads", options->threads, "Threads to use, 1 to 1024 (default: the cores)")
      ->check(in_range(1, 1024))
      ->type_name("N");
  command->add_option("--stages", options->stages, "Print only these of the stages 1 to 6, such as 2,6")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(in_range(1, pipeline::Stages::count))
      ->type_name("LIST");
  add_manual(*command, input_manual,
             {"rapt generate --seed 1 > input.txt", "rapt run input.txt",
              "rapt run --stages 6 --arithmetic fused < input.txt"});
  command->callback([options] { run(*options); });
}

}  // namespace rapt::cli
