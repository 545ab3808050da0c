// rapt capacity: what the keys and values of a model take, or how many tokens fit a memory size, with a head
// of keys and values for each query head (MHA), for groups of them (GQA) and for all of them (MQA).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

#include "capacity_plan.hpp"
#include "capacity_plot.hpp"
#include "commands.hpp"
#include "plot.hpp"
#include "streams.hpp"
#include "table.hpp"

namespace rapt::cli {
namespace {

using Size = std::ptrdiff_t;

/// Published shapes. Their names are the models' own.
struct Model {
  const char* name;
  Size layers, heads, kv_heads, head_dim;
  const char* dtype;
};
constexpr std::array<Model, 12> models{{{"gpt2", 12, 12, 12, 64, "f32"},
                                        {"llama-2-7b", 32, 32, 32, 128, "f16"},
                                        {"llama-2-70b", 80, 64, 8, 128, "f16"},
                                        {"llama-3-8b", 32, 32, 8, 128, "bf16"},
                                        {"llama-3-70b", 80, 64, 8, 128, "bf16"},
                                        {"mistral-7b", 32, 32, 8, 128, "bf16"},
                                        {"mixtral-8x7b", 32, 32, 8, 128, "bf16"},
                                        {"qwen2.5-7b", 28, 28, 4, 128, "bf16"},
                                        {"qwen3-8b", 36, 32, 8, 128, "bf16"},
                                        {"gemma-2-9b", 42, 16, 8, 256, "bf16"},
                                        {"phi-3-mini", 32, 32, 32, 96, "bf16"},
                                        {"falcon-7b", 32, 71, 1, 64, "bf16"}}};

/// "24GiB", "1.5 GB", "4096": bytes.
Size parse_memory(const std::string& text) {
  static const std::map<std::string, double> units{
      {"", 1},         {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12},    {"PB", 1e15},    {"EB", 1e18},    {"KiB", 0x1p10}, {"MiB", 0x1p20},
      {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}, {"EiB", 0x1p60}};
  double number = 0;
  Size whole = 0, bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const char* unit = after;
  while (unit != end && *unit == ' ') ++unit;
  const auto found = units.find(std::string(unit, end));
  // A double has no place for every whole number.
  const auto digits = std::from_chars(text.data(), end, whole);
  if (digits.ec == std::errc{} && digits.ptr == after && found != units.end() && whole >= 0 &&
      !__builtin_mul_overflow(whole, static_cast<Size>(found->second), &bytes))
    return bytes;
  if (error != std::errc{} || found == units.end() || !(number >= 0) || number * found->second >= 0x1p63) {
    throw CLI::ValidationError(
        "--memory", "expected a size below 8 EiB such as 24GiB, 1.5GB or 4096, got '" + text + "'");
  }
  return static_cast<Size>(number * found->second);
}

/// What the command line says; 0 and "" are left to the model.
struct CapacityOptions {
  std::string model = "llama-3-8b", dtype;
  Size layers = 0, heads = 0, kv_heads = 0, head_dim = 0, v_dim = 0;
  Size batch = 1, tokens = 0;
  std::string memory, plot;
  Format format = Format::table;
};

/// The shape that model and options give; options win.
CapacityQuestion question_of(const CapacityOptions& options) {
  const Model& model = *std::find_if(models.begin(), models.end(),
                                     [&](const Model& known) { return known.name == options.model; });
  const auto either = [](Size option, Size other) { return option != 0 ? option : other; };
  CapacityQuestion question{.model = options.model,
                            .layers = either(options.layers, model.layers),
                            .heads = either(options.heads, model.heads),
                            // Heads that are given alone each have keys and values of their own.
                            .kv_heads = either(options.kv_heads, either(options.heads, model.kv_heads)),
                            .head_dim = either(options.head_dim, model.head_dim),
                            .v_dim = either(options.v_dim, either(options.head_dim, model.head_dim)),
                            .dtype = options.dtype.empty() ? model.dtype : options.dtype,
                            .batch = options.batch,
                            .tokens = std::nullopt,
                            .memory = std::nullopt,
                            .memory_words = options.memory};
  if (question.heads % question.kv_heads != 0) {
    throw CLI::ValidationError(
        "--kv-heads", fmt::format("{} does not divide --heads {}", question.kv_heads, question.heads));
  }
  if (std::tie(question.layers, question.heads, question.kv_heads, question.head_dim, question.v_dim) !=
      std::tie(model.layers, model.heads, model.kv_heads, model.head_dim, model.head_dim))
    question.model.clear();
  if (!options.memory.empty()) question.memory = parse_memory(options.memory);
  if (options.tokens != 0 || !question.memory) question.tokens = either(options.tokens, 4096);
  return question;
}

Cell bytes_cell(Size bytes) {
  return {std::int64_t{bytes}, fmt::format("{} ({})", bytes, shown_bytes(bytes))};
}

Table table_of(const CapacityQuestion& question) {
  const bool by_memory = !question.tokens;
  Table table{.columns = {"kind", "kv_heads", "bytes_per_token", "tokens", "payload_bytes"}, .rows = {}};
  if (by_memory) table.columns.emplace_back("tokens_in_rapt");
  table.columns.insert(table.columns.end(), {"allocated_bytes", "of_mha"});
  if (question.memory && !by_memory) table.columns.emplace_back("tokens_that_fit");
  for (const Plan& plan : plans_of(question)) {
    const Size fit = question.memory ? plan.allocated_tokens(*question.memory) : 0;
    const Size tokens = by_memory ? plan.payload_tokens(*question.memory) : *question.tokens;
    const double share = static_cast<double>(plan.kv_heads()) / static_cast<double>(question.heads);
    std::vector<Cell> row{plan.kind(), std::int64_t{plan.kv_heads()},
                          bytes_cell(plan.payload(1) / question.batch), std::int64_t{tokens},
                          bytes_cell(plan.payload(tokens))};
    if (by_memory) row.emplace_back(std::int64_t{fit});
    row.push_back(bytes_cell(plan.allocated(by_memory ? fit : tokens)));
    row.emplace_back(share, fmt::format("{:.4g}", share));
    if (question.memory && !by_memory) row.emplace_back(std::int64_t{fit});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string heading(const CapacityQuestion& question) {
  const std::string what =
      question.tokens ? counted(*question.tokens, "token") : "as many tokens as fit " + question.memory_words;
  return fmt::format("KV cache: {} of {}\n\n", shape_in_words(question), what);
}

constexpr const char* legend =
    "\nMHA: keys and values for each head. GQA: for each group of heads. MQA: once for all heads.\n"
    "payload: layers x sequences x kv_heads x tokens x (head dim + v dim) x bytes of an element.\n"
    "allocated: what rapt::KvCache takes for it, in whole blocks of 256 tokens.\n";

void print(const CapacityQuestion& question, Format format) {
  const Table table = table_of(question);
  switch (format) {
    case Format::table:
      return write_output(heading(question) + to_text(table) + legend);
    case Format::csv:
      return write_output(to_csv(table));
    case Format::json:
      return write_output(to_json(table));
  }
}

void capacity(const CapacityOptions& options) {
  const CapacityQuestion question = question_of(options);
  if (!options.plot.empty()) check_plot(options.plot);
  print(question, options.format);
  if (!options.plot.empty()) draw(options.plot, plot_commands(question, options.plot));
}

}  // namespace

void add_capacity(CLI::App& app) {
  const auto options = std::make_shared<CapacityOptions>();
  CLI::App* command = app.add_subcommand("capacity", "Plan the memory of a KV cache");
  const auto size = [&](const char* name, Size& value, const char* help) {
    return command->add_option(name, value, help)
        ->check(in_range(Size{1}, std::numeric_limits<Size>::max()))
        ->type_name("N");
  };
  std::vector<std::string> names(models.size());
  std::transform(models.begin(), models.end(), names.begin(), [](const Model& model) { return model.name; });
  command
      ->add_option("--model", options->model, "A known shape (default llama-3-8b), which the options change")
      ->check(one_of(names))
      ->type_name("NAME");
  size("--layers", options->layers, "Layers");
  size("--heads", options->heads, "Query heads");
  size("--kv-heads", options->kv_heads,
       "Heads of keys and values (default, where --heads is given: as many)");
  size("--head-dim", options->head_dim, "Elements of a key");
  size("--v-dim", options->v_dim, "Elements of a value (default: those of a key)");
  command->add_option("--dtype", options->dtype, "What an element is stored as (default: the model's)")
      ->check(one_of({"f64", "f32", "bf16", "f16"}))
      ->type_name("f64|f32|bf16|f16");
  size("--batch", options->batch, "Sequences (default 1)");
  size("--tokens", options->tokens, "Tokens of each sequence (default 4096, unless --memory is given)");
  command->add_option("--memory", options->memory, "Tell the tokens that fit, such as 24GiB")
      ->check(not_empty)
      ->type_name("SIZE");
  add_plot(*command, options->plot, "Also draw bytes against tokens");
  add_formats(*command, options->format);
  add_manual(*command, "Models: " + CLI::detail::join(names, ", ") + "\n",
             {"rapt capacity --model mistral-7b --tokens 32768", "rapt capacity --memory 24GiB --batch 8",
              "rapt capacity --tokens 8192 --memory 24GiB --plot capacity.png",
              "rapt capacity --layers 24 --heads 16 --head-dim 64 --dtype f16 --json"});
  command->callback([options] { capacity(*options); });
}

}  // namespace rapt::cli
