// rapt capacity: what the keys and values of a model take, or how many tokens fit a memory size, with a head
// of keys and values for each query head (MHA), for groups of them (GQA) and for all of them (MQA).
#include <fmt/format.h>
#include <rapt/capacity.hpp>
#include <rapt/error.hpp>
#include <rapt/kv_cache.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <memory>

#include "commands.hpp"
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

struct Dtype {
  KvDtype cache;
  Size itemsize;
};
const std::map<std::string, Dtype>& dtypes() {
  static const std::map<std::string, Dtype> all{{"f64", {KvDtype::f64, 8}},
                                                {"f32", {KvDtype::f32, 4}},
                                                {"bf16", {KvDtype::bf16, 2}},
                                                {"f16", {KvDtype::f16, 2}}};
  return all;
}

/// What the command line says; 0 and "" are left to the model.
struct CapacityOptions {
  std::string model = "llama-3-8b", dtype;
  Size layers = 0, heads = 0, kv_heads = 0, head_dim = 0, v_dim = 0;
  Size batch = 1, tokens = 4096;
  std::string memory;
  Format format = Format::table;
};

/// "24GiB", "1.5 GB", "4096": bytes.
Size parse_memory(const std::string& text) {
  static const std::map<std::string, double> units{
      {"", 1},      {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const char* unit = after;
  while (unit != end && *unit == ' ') ++unit;
  const auto found = units.find(std::string(unit, end));
  if (error != std::errc{} || found == units.end() || !(number >= 0) || number * found->second >= 0x1p63) {
    throw CLI::ValidationError(
        "--memory", "expected a size below 8 EiB such as 24GiB, 1.5GB or 4096, got '" + text + "'");
  }
  return static_cast<Size>(number * found->second);
}

/// The shape that model and options give; options win.
CapacityOptions completed(CapacityOptions options) {
  const auto model = std::find_if(models.begin(), models.end(),
                                  [&](const Model& known) { return known.name == options.model; });
  // Heads that are given without --kv-heads each have keys and values of their own.
  if (options.kv_heads == 0) options.kv_heads = options.heads != 0 ? options.heads : model->kv_heads;
  if (options.heads == 0) options.heads = model->heads;
  if (options.layers == 0) options.layers = model->layers;
  if (options.head_dim == 0) options.head_dim = model->head_dim;
  if (options.v_dim == 0) options.v_dim = options.head_dim;
  if (options.dtype.empty()) options.dtype = model->dtype;
  if (options.heads % options.kv_heads != 0) {
    throw CLI::ValidationError("--kv-heads",
                               fmt::format("{} does not divide --heads {}", options.kv_heads, options.heads));
  }
  return options;
}

/// One line of the table: a number of heads that hold keys and values.
class Plan {
 public:
  Plan(const CapacityOptions& options, Size kv_heads)
      : shape_{.batch = options.batch,
               .n_kv_heads = kv_heads,
               .tokens = 1,
               .head_dim = options.head_dim,
               .v_dim = options.v_dim,
               .layers = options.layers,
               .itemsize = dtypes().at(options.dtype).itemsize},
        cache_{.batch = options.batch,
               .n_kv_heads = kv_heads,
               .head_dim = options.head_dim,
               .v_dim = options.v_dim,
               .capacity = 1,
               .window = std::nullopt,
               .dtype = dtypes().at(options.dtype).cache} {}

  Size payload(Size tokens) const {
    KvShape shape = shape_;
    shape.tokens = tokens;
    return kv_capacity(shape);
  }
  /// What a KvCache for each layer allocates.
  Size allocated(Size tokens) const {
    if (tokens == 0) return 0;
    KvCacheOptions cache = cache_;
    cache.capacity = tokens;
    Size bytes = 0;
    if (__builtin_mul_overflow(kv_cache_bytes(cache), shape_.layers, &bytes))
      throw invalid_input("layers: the bytes of all of them do not fit 64 bits");
    return bytes;
  }
  Size payload_tokens(Size bytes) const { return kv_tokens_that_fit(shape_, bytes); }
  /// The most tokens whose caches fit. What is allocated is at least the payload, so fewer than those.
  Size allocated_tokens(Size bytes) const {
    Size fits = 0, most = payload_tokens(bytes);
    while (fits < most) {
      const Size middle = most - (most - fits) / 2;
      if (allocated(middle) <= bytes) {
        fits = middle;
      } else {
        most = middle - 1;
      }
    }
    return fits;
  }

 private:
  KvShape shape_;
  KvCacheOptions cache_;
};

std::vector<std::pair<const char*, Size>> variants(Size heads, Size kv_heads) {
  std::vector<std::pair<const char*, Size>> all{{"MHA", heads}};
  if (kv_heads > 1 && kv_heads < heads) all.emplace_back("GQA", kv_heads);
  if (heads > 1) all.emplace_back("MQA", 1);
  return all;
}

Cell bytes_cell(Size bytes) {
  return {std::int64_t{bytes}, fmt::format("{} ({})", bytes, shown_bytes(bytes))};
}

Table table_of(const CapacityOptions& options) {
  const bool by_memory = !options.memory.empty();
  const Size memory = by_memory ? parse_memory(options.memory) : 0;
  Table table{.columns = {"kind", "kv_heads", "bytes_per_token", "tokens", "payload_bytes"}, .rows = {}};
  if (by_memory) table.columns.emplace_back("tokens_in_rapt");
  table.columns.insert(table.columns.end(), {"allocated_bytes", "of_mha"});
  const double mha = static_cast<double>(options.heads);
  for (const auto& [kind, kv_heads] : variants(options.heads, options.kv_heads)) {
    const Plan plan(options, kv_heads);
    const Size tokens = by_memory ? plan.payload_tokens(memory) : options.tokens;
    const Size held = by_memory ? plan.allocated_tokens(memory) : tokens;
    const double share = static_cast<double>(kv_heads) / mha;
    std::vector<Cell> row{kind, std::int64_t{kv_heads}, bytes_cell(plan.payload(1) / options.batch),
                          std::int64_t{tokens}, bytes_cell(plan.payload(tokens))};
    if (by_memory) row.emplace_back(std::int64_t{held});
    row.push_back(bytes_cell(plan.allocated(held)));
    row.emplace_back(share, fmt::format("{:.4g}", share));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string heading(const CapacityOptions& options) {
  const std::string what = options.memory.empty() ? fmt::format("{} tokens", options.tokens)
                                                  : "as many tokens as fit " + options.memory;
  return fmt::format(
      "KV cache: {} layers, {} heads ({} of keys and values), head dim {}{}, {}, {} sequence{} of {}\n\n",
      options.layers, options.heads, options.kv_heads, options.head_dim,
      options.v_dim == options.head_dim ? "" : fmt::format(" (values {})", options.v_dim), options.dtype,
      options.batch, options.batch == 1 ? "" : "s", what);
}

constexpr const char* legend =
    "\nMHA: keys and values for each head. GQA: for each group of heads. MQA: once for all heads.\n"
    "payload: layers x sequences x kv_heads x tokens x (head dim + v dim) x bytes of an element.\n"
    "allocated: what rapt::KvCache takes for it, in whole blocks of 256 tokens.\n";

void capacity(const CapacityOptions& given) {
  const CapacityOptions options = completed(given);
  const Table table = table_of(options);
  if (options.format == Format::csv) return write_output(to_csv(table));
  if (options.format == Format::json) return write_output(to_json(table));
  write_output(heading(options) + to_text(table) + legend);
}

}  // namespace

void add_capacity(CLI::App& app) {
  const auto options = std::make_shared<CapacityOptions>();
  CLI::App* command = app.add_subcommand("capacity", "Plan the memory of a KV cache");
  const auto size = [&](const char* name, Size& value, const char* help) {
    return command->add_option(name, value, help)
        ->check(wordless(CLI::Range(Size{1}, std::numeric_limits<Size>::max())))
        ->type_name("N");
  };
  std::vector<std::string> names(models.size());
  std::transform(models.begin(), models.end(), names.begin(), [](const Model& model) { return model.name; });
  command
      ->add_option("--model", options->model, "A known shape (default llama-3-8b), which the options change")
      ->check(wordless(CLI::IsMember(names)))
      ->type_name("NAME");
  size("--layers", options->layers, "Layers");
  size("--heads", options->heads, "Query heads");
  size("--kv-heads", options->kv_heads,
       "Heads of keys and values (default, where --heads is given: as many)");
  size("--head-dim", options->head_dim, "Elements of a key");
  size("--v-dim", options->v_dim, "Elements of a value (default: those of a key)");
  command->add_option("--dtype", options->dtype, "What an element is stored as (default: the model's)")
      ->check(wordless(CLI::IsMember(std::vector<std::string>{"f64", "f32", "bf16", "f16"})))
      ->type_name("f64|f32|bf16|f16");
  size("--batch", options->batch, "Sequences (default 1)");
  CLI::Option* tokens = size("--tokens", options->tokens, "Tokens of each sequence (default 4096)");
  command->add_option("--memory", options->memory, "Tell the tokens that fit, such as 24GiB")
      ->type_name("SIZE")
      ->excludes(tokens);
  add_formats(*command, options->format);
  add_manual(*command, "Models: " + CLI::detail::join(names, ", ") + "\n",
             {"rapt capacity --model mistral-7b --tokens 32768", "rapt capacity --memory 24GiB --batch 8",
              "rapt capacity --layers 24 --heads 16 --head-dim 64 --dtype f16 --json"});
  command->callback([options] { capacity(*options); });
}

}  // namespace rapt::cli
