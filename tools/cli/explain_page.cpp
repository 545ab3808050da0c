#include "explain_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "page_style.hpp"
#include "table.hpp"

namespace rapt::cli {
namespace {

/// More rows than this are drawn in blocks.
constexpr std::size_t most_map_rows = 128;
/// What a page shows of a larger matrix, and of larger lists.
constexpr std::size_t most_cells_a_side = 64;
/// From here on cells are small and their numbers are told, not written.
constexpr std::size_t dense_from = 25;
/// Of rows and columns that are blocks, every so many has its number.
constexpr std::size_t labelled_blocks = 4;
constexpr std::size_t top = 8;

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

/// The heat map: a cell for each row and key, or for each block of them.
class HeatMap {
 public:
  explicit HeatMap(const Reading& reading)
      : reading_(reading), step_((reading.size() + most_map_rows - 1) / most_map_rows) {}

  /// Weights of one token among hundreds are small: there the ramp rises more steeply. Either way it begins
  /// steeply, so that small weights are seen too.
  double ink(double weight) const { return step_ > 1 ? std::cbrt(weight) : std::sqrt(weight); }

  std::string legend() const {
    std::string ramp;
    for (const double weight : {0.0, 0.02, 0.1, 0.25, 0.5, 1.0})
      ramp += fmt::format(",rgba(var(--ink),{:.3f}) {:.0f}%", 0.85 * ink(weight), 100 * weight);
    return "<p class=\"soft\"><span class=\"with-key\"><span class=\"key ramp\" "
           "style=\"background:linear-gradient(90deg" +
           ramp +
           ")\"></span>weight 0 to 1</span>\n<span class=\"with-key\"><span class=\"key "
           "later\"></span>later, cannot be seen</span>"
           " <span class=\"with-key\"><span class=\"key padding\"></span>padding, takes no part</span></p>";
  }

  std::string html() const {
    std::string html = legend();
    if (step_ > 1) {
      html += fmt::format(
          "<p>Each cell stands for {0} x {0} weights and shows the greatest of them. "
          "The table below has the rows one by one.</p>",
          step_);
    }
    html += fmt::format(
        "<div class=\"wide\"><table class=\"map{}\" role=\"grid\" aria-label=\"Attention weights\"{}>",
        step_ > 1                ? " dense blocks"
        : blocks() >= dense_from ? " dense"
                                 : "",
        step_ > 1 ? " data-most=\"1\"" : "");
    html += "<thead><tr><th aria-label=\"row looks at column\"></th>";
    for (std::size_t key = 0; key < blocks(); ++key) html += header("col", key);
    html += "</tr></thead>\n<tbody>";
    for (std::size_t row = 0; row < blocks(); ++row) {
      html += row_tag(row) + header("row", row);
      for (std::size_t key = 0; key < blocks(); ++key) html += cell(row, key);
      html += "</tr>\n";
    }
    return html + "</tbody></table></div>";
  }

 private:
  std::size_t blocks() const { return (reading_.size() + step_ - 1) / step_; }
  std::size_t end(std::size_t block) const { return std::min(reading_.size(), (block + 1) * step_); }

  std::string row_tag(std::size_t block) const {
    const auto first_generated = static_cast<std::size_t>(reading_.input().n);
    if (end(block) <= first_generated) return "<tr>";
    return block * step_ <= first_generated ? "<tr class=\"gen first-gen\">" : "<tr class=\"gen\">";
  }

  std::string header(const char* scope, std::size_t block) const {
    const std::size_t first = block * step_;
    const bool padding = step_ == 1 && reading_.token(first).kind == TokenKind::padding;
    const std::string name = step_ == 1                ? reading_.name(first)
                             : first + 1 == end(block) ? fmt::format("row {}", first)
                                                       : fmt::format("rows {} to {}", first, end(block) - 1);
    const std::string number = block % labelled_blocks == 0 ? fmt::format("{}", first) : "";
    return fmt::format("<th scope=\"{}\"{} data-name=\"{}\"><span>{}</span></th>", scope,
                       padding ? " class=\"padding\"" : "", escaped(name),
                       escaped(step_ == 1 ? reading_.token(first).label : number));
  }

  std::string cell(std::size_t row_block, std::size_t key_block) const {
    bool seen = false, later = false;
    double most = 0;
    for (std::size_t row = row_block * step_; row < end(row_block); ++row) {
      for (std::size_t key = key_block * step_; key < end(key_block); ++key) {
        const Sight sight = reading_.sight(row, key);
        seen = seen || sight == Sight::seen;
        later = later || sight == Sight::later;
        const double weight = reading_.weight(row, key);
        if (std::isnan(weight) || weight > most) most = weight;  // NaN stays
      }
    }
    const std::string tab = row_block == 0 && key_block == 0 ? "0" : "-1";
    if (!seen) {
      return fmt::format("<td class=\"{}\" tabindex=\"{}\" aria-label=\"{}\"></td>",
                         later ? "later" : "padding", tab, later ? "later" : "padding");
    }
    return fmt::format("<td{} tabindex=\"{}\" style=\"--w:{:.3f}\">{}</td>",
                       most > 0.65 ? " class=\"strong\"" : "", tab, std::isnan(most) ? 0 : ink(most),
                       three_decimals(most));
  }

  const Reading& reading_;
  std::size_t step_;
};

std::string looks_table(const Reading& reading) {
  std::string html =
      "<table class=\"rows\"><thead><tr><th>row</th><th>token</th><th>sees</th><th>looks at, most "
      "first</th></tr>"
      "</thead><tbody>";
  for (std::size_t row = 0; row < reading.size(); ++row) {
    const std::vector<Look> looks = reading.looks(row);
    std::string text = reading.token(row).kind == TokenKind::padding ? "nothing: it is padding" : "";
    for (std::size_t rank = 0; rank < std::min(top, looks.size()); ++rank) {
      const std::size_t key = looks[rank].key;
      text += (rank > 0 ? ", " : "") + (key == row ? "itself" : reading.name(key)) + " " +
              three_decimals(looks[rank].weight);
    }
    if (looks.size() > top) text += fmt::format(", and {} more", looks.size() - top);
    html +=
        fmt::format("<tr><td>{}</td><th scope=\"row\">{}</th><td>{}</td><td class=\"text\">{}</td></tr>\n",
                    row, escaped(reading.token(row).label), looks.size(), escaped(text));
  }
  return html + "</tbody></table>";
}

/// Rows [first, first + rows) of the reading, with a number in each column.
std::string matrix(const Reading& reading, const std::string& title, std::span<const double> values,
                   std::size_t first, std::size_t rows, std::size_t columns) {
  const std::size_t shown_rows = std::min(rows, most_cells_a_side);
  const std::size_t shown_columns = std::min(columns, most_cells_a_side);
  std::string html = fmt::format(
      "<p>{}{}</p><div class=\"wide\"><table class=\"rows\"><thead><tr><th>token</th>", title,
      shown_rows < rows || shown_columns < columns
          ? fmt::format(" (the first {} x {} of {} x {})", shown_rows, shown_columns, rows, columns)
          : "");
  for (std::size_t c = 0; c < shown_columns; ++c) html += fmt::format("<th>{}</th>", c);
  html += "</tr></thead><tbody>";
  for (std::size_t r = 0; r < shown_rows; ++r) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(reading.name(first + r)));
    for (std::size_t c = 0; c < shown_columns; ++c) {
      const double value = values[r * columns + c];
      const double printed = std::abs(value) < 0.0005 ? 0.0 : value;
      html += "<td>" + three_decimals(printed) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>";
}

std::string vocabulary_table(const pipeline::Result& result) {
  const std::size_t all = result.vocabulary.size(), shown = std::min(all, most_cells_a_side);
  std::string html = fmt::format(
      "<p>The {} in byte order; each is the unit vector of its place.</p>"
      "<table class=\"rows\"><thead><tr><th>word</th><th>the 1 is at</th></tr></thead><tbody>",
      counted(static_cast<std::int64_t>(all), "different word"));
  for (std::size_t i = 0; i < shown; ++i) {
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{} of {}</td></tr>\n",
                        escaped(printable(result.vocabulary[i])), i, all);
  }
  return html + "</tbody></table>" + (shown < all ? fmt::format("<p>and {} more</p>", all - shown) : "");
}

std::string stage(const char* name, const std::string& content) {
  return fmt::format("<details><summary>{}</summary>{}</details>\n", name, content);
}

std::string stages(const Reading& reading) {
  const pipeline::Result& result = reading.result();
  const auto n = static_cast<std::size_t>(reading.input().n), d = static_cast<std::size_t>(reading.input().d),
             g = static_cast<std::size_t>(reading.input().g);
  const auto of = [&](const char* title, const std::vector<double>& values, std::size_t columns) {
    return matrix(reading, title, values, 0, n, columns);
  };
  std::string generated = matrix(reading, "Attention of each generated row", result.generated, n, g, d);
  for (std::size_t t = 0; t < g && t < most_cells_a_side; ++t)
    generated += fmt::format("<p>Gen {}: {} dot products</p>", t, result.dot_products[t]);
  return stage("Stage 1: embeddings (one-hot)", vocabulary_table(result)) +
         stage("Stage 2: projections", of("Q: what each row asks for", result.q, d) +
                                           of("K: what each row offers", result.k, d) +
                                           of("V: what each row gives", result.v, d)) +
         stage("Stage 3: attention scores",
               of("Q K<sup>T</sup> / &radic;d; -inf is hidden", result.scores, n)) +
         stage("Stage 4: attention weights",
               of("The share that each row gives to each key", result.weights, n)) +
         stage("Stage 5: attention output", of("The values, mixed by the weights", result.output, d)) +
         stage("Stage 6: generated outputs", g == 0 ? "<p>There are none.</p>" : generated);
}

constexpr const char* begin = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Where each token looks</title><style>)html";

}  // namespace

std::string page(const Reading& reading) {
  std::string html =
      std::string(begin) + page_style + "</style></head>\n<body><main><h1>Where each token looks</h1>";
  html +=
      "<p>" + escaped(reading.summary()) +
      "</p><p>Each row of the map is a token; along it, the share of its attention that goes to each token "
      "before it and to itself. A row sums to " +
      reading.sum_in_words() + ".</p>";
  html += "<p class=\"soft\">Point at a cell, or reach the map with Tab and move with the arrow keys.</p>";
  html += HeatMap(reading).html();
  html += "<div id=\"told\" role=\"status\" aria-live=\"polite\">A cell is read out here.</div>";
  html += "<h2>The same in words</h2><div class=\"wide\">" + looks_table(reading) + "</div>";
  html += "<h2>The six stages</h2>" + stages(reading);
  return html + "</main>\n<script>" + page_script + "</script></body></html>\n";
}

}  // namespace rapt::cli
