#include "table.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace rapt::cli {
namespace {

bool is_text(const Cell& cell) { return std::holds_alternative<std::string>(cell.value); }

/// Drops the sign of a NaN.
double unsigned_nan(double value) { return std::isnan(value) ? std::abs(value) : value; }

std::string plain(const Cell& cell) {
  if (const auto* number = std::get_if<double>(&cell.value)) return fmt::format("{}", unsigned_nan(*number));
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, cell.value);
}

std::string padded(const std::string& text, std::size_t to, bool left) {
  const std::string blanks(to - width(text), ' ');
  return left ? text + blanks : blanks + text;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

/// Bytes of the valid UTF-8 sequence at the beginning, or 0.
std::size_t sequence_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned first = at(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || length > bytes.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0U) != 0x80U) return 0;
  }
  // Overlong forms, surrogates, and what is beyond U+10FFFF show in the second byte.
  if ((first == 0xE0 && at(1) < 0xA0) || (first == 0xED && at(1) > 0x9F) || (first == 0xF0 && at(1) < 0x90) ||
      (first == 0xF4 && at(1) > 0x8F))
    return 0;
  return length;
}

/// The code point of a valid sequence.
char32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  char32_t point = first & (0xFFU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) point = point << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return point;
}

/// C0, DEL, C1, and what turns the direction of the text around it.
bool is_control(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x61C || point == 0x200E ||
         point == 0x200F || (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

}  // namespace

std::string to_text(const Table& table) {
  const std::size_t columns = table.columns.size();
  std::vector<std::vector<std::string>> lines{table.columns};
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    for (const Cell& cell : row) line.push_back(cell.shown.empty() ? plain(cell) : cell.shown);
  }
  std::vector<std::size_t> widths(columns, 0);
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], width(line[c]));
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < columns; ++c) {
      const bool left = !table.rows.empty() && is_text(table.rows[0][c]);
      text += (c > 0 ? "  " : "") + padded(line[c], widths[c], left);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string to_csv(const Table& table) {
  std::string text;
  const auto add = [&](std::size_t column, const std::string& field) {
    text += (column > 0 ? "," : "") + csv_field(field);
  };
  for (std::size_t c = 0; c < table.columns.size(); ++c) add(c, table.columns[c]);
  text += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) add(c, plain(row[c]));
    text += '\n';
  }
  return text;
}

std::string to_json(const Table& table) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    nlohmann::ordered_json object;
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::visit([&](const auto& value) { object[table.columns[c]] = value; }, row[c].value);
    }
    all.push_back(std::move(object));
  }
  return all.dump(2) + "\n";
}

void add_formats(CLI::App& command, Format& format) {
  const auto set = [&format](Format to) { return [&format, to](std::int64_t) { format = to; }; };
  CLI::Option* csv = command.add_flag_function("--csv", set(Format::csv), "Write CSV in place of the table");
  command.add_flag_function("--json", set(Format::json), "Write JSON in place of the table")->excludes(csv);
}

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    const std::string_view sequence = bytes.substr(0, std::max<std::size_t>(length, 1));
    if (length > 0 && !is_control(code_point(sequence))) {
      text += sequence;
    } else {
      for (const char c : sequence) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    bytes.remove_prefix(sequence.size());
  }
  return text;
}

std::string three_decimals(double value) { return fmt::format("{:.3f}", unsigned_nan(value)); }

std::string counted(std::int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string shown_bytes(std::int64_t bytes) {
  static constexpr std::array<const char*, 7> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace rapt::cli
