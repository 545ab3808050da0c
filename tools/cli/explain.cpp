// rapt explain: the attention weights of a staged input in words: for each token, which tokens it looks at
// and how much.
#include <fmt/format.h>
#include <rapt/pipeline.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

#include "commands.hpp"
#include "explain_page.hpp"
#include "generate.hpp"
#include "reading.hpp"
#include "streams.hpp"
#include "table.hpp"

namespace rapt::cli {
namespace {

struct ExplainOptions {
  std::string file, text, html;
  std::size_t top = 4;
  bool unbounded = false;
  Format format = Format::table;
};

pipeline::Input input_of(const ExplainOptions& options) {
  const auto limits = options.unbounded ? pipeline::Limits::unbounded : pipeline::Limits::assignment;
  if (options.text.empty()) {
    InputFile file(options.file == "-" ? "" : options.file);
    return pipeline::parse([&](char* buffer, std::size_t size) { return file.read(buffer, size); }, limits);
  }
  const std::vector<std::string> words = split(options.text);
  // A quarter of the components tells the words apart; beyond 64 only where the limits are lifted.
  const auto distinct = std::ssize(std::set<std::string>(words.begin(), words.end()));
  const std::ptrdiff_t d = std::max<std::ptrdiff_t>(32, distinct * 4);
  GenerateOptions generated;
  generated.n = std::ssize(words);
  generated.d = options.unbounded ? d : std::min<std::ptrdiff_t>(d, 64);
  generated.g = 2;
  generated.structured = true;
  generated.text = options.text;
  std::string text;
  generate(generated, [&](std::string_view chunk) { text += chunk; });
  return pipeline::parse(text, limits);
}

const char* kind_name(TokenKind kind) {
  switch (kind) {
    case TokenKind::prompt:
      return "prompt";
    case TokenKind::padding:
      return "padding";
    default:
      return "generated";
  }
}

/// A line for each of the first `top` keys of each token.
Table table_of(const Reading& reading, std::size_t top) {
  Table table{.columns = {"row", "token", "kind", "sees", "rank", "key", "key_token", "weight"}, .rows = {}};
  for (std::size_t row = 0; row < reading.size(); ++row) {
    const std::vector<Look> looks = reading.looks(row);
    for (std::size_t rank = 0; rank < std::min(top, looks.size()); ++rank) {
      table.rows.push_back({static_cast<std::int64_t>(row), reading.token(row).label,
                            kind_name(reading.token(row).kind), std::ssize(looks),
                            static_cast<std::int64_t>(rank + 1), static_cast<std::int64_t>(looks[rank].key),
                            reading.token(looks[rank].key).label, looks[rank].weight});
    }
  }
  return table;
}

/// "cat[1] 0.87, itself 0.10, and 3 more 0.03".
std::string looks_in_words(const Reading& reading, std::size_t row, std::size_t top) {
  if (reading.token(row).kind == TokenKind::padding)
    return "padding: looks at nothing, and nothing looks at it";
  const std::vector<Look> looks = reading.looks(row);
  std::string line;
  double rest = 0;
  for (std::size_t rank = 0; rank < looks.size(); ++rank) {
    const auto [key, weight] = looks[rank];
    if (rank >= top) {
      rest += weight;
    } else {
      line +=
          (rank > 0 ? ", " : "") + (key == row ? "itself" : reading.name(key)) + " " + three_decimals(weight);
    }
  }
  if (looks.size() > top) line += fmt::format(", and {} more {}", looks.size() - top, three_decimals(rest));
  return line;
}

std::string in_words(const Reading& reading, std::size_t top) {
  const pipeline::Input& input = reading.input();
  std::string text =
      reading.summary() + "\n" +
      "Each token looks at itself and at tokens before it, never at later ones or at padding.\n"
      "The number is the share of its attention that goes there; all its shares sum to " +
      reading.sum_in_words() + ".\n";
  text += '\n';
  Table table{.columns = {"row", "token", "sees", "looks at"}, .rows = {}};
  for (std::size_t row = 0; row < reading.size(); ++row) {
    table.rows.push_back({static_cast<std::int64_t>(row), reading.token(row).label,
                          std::ssize(reading.looks(row)), looks_in_words(reading, row, top)});
  }
  text += to_text(table);
  if (input.g > 0) text += "\nDot products for each generated row (its q, k and v, its keys, its output):\n";
  for (std::size_t t = 0; t < reading.result().dot_products.size(); ++t) {
    const auto keys = std::ssize(reading.looks(static_cast<std::size_t>(input.n) + t));
    text += fmt::format("Gen {}: {} = 3 x {} + {} + {}\n", t, reading.result().dot_products[t], input.d, keys,
                        input.d);
  }
  return text;
}

void explain(const ExplainOptions& options) {
  if (!options.html.empty()) {
    check_output_file("--html", options.html);
    if (options.text.empty())
      check_not_input("--html", options.html, options.file == "-" ? "" : options.file);
  }
  const Reading reading(input_of(options));
  if (!options.html.empty()) write_file(options.html, page(reading));
  switch (options.format) {
    case Format::table:
      return write_output(in_words(reading, options.top));
    case Format::csv:
      return write_output(to_csv(table_of(reading, options.top)));
    case Format::json:
      return write_output(to_json(table_of(reading, options.top)));
  }
}

}  // namespace

void add_explain(CLI::App& app) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "Tell for each token where it looks, and how much");
  CLI::Option* file = command
                          ->add_option("FILE", options->file,
                                       "The text of the staged program; standard input when absent or -")
                          ->check(not_empty)
                          ->type_name("");
  command
      ->add_option("--text", options->text, "Explain these words instead, as a structured input made of them")
      ->type_name("TEXT")
      ->check([](const std::string& text) { return split(text).empty() ? "holds no word" : ""; })
      ->excludes(file);
  command->add_option("--top", options->top, "Keys to name for each token (default 4)")
      ->check(in_range(std::size_t{1}, std::numeric_limits<std::size_t>::max() / 2))
      ->type_name("K");
  command->add_flag("--unbounded", options->unbounded, "Lift the limits on n, d, g and text_len");
  command->add_option("--html", options->html, "Also write one page with a heat map of the weights")
      ->check(not_empty)
      ->type_name("OUT");
  add_formats(*command, options->format);
  add_manual(
      *command, input_manual,
      {"rapt generate --structured --text 'the cat saw the other cat' > input.txt",
       "rapt explain --top 2 input.txt", "rapt explain --text 'any words of your own' --html page.html"});
  command->callback([options] { explain(*options); });
}

}  // namespace rapt::cli
