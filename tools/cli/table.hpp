// What a subcommand found, as rows under named columns, and the three ways it is written: a table to read,
// CSV and JSON.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rapt::cli {

enum class Format { table, csv, json };

/// One value; `shown` replaces it in the table to read.
struct Cell {
  Cell(std::string text) : value(std::move(text)) {}
  Cell(const char* text) : value(std::string(text)) {}
  Cell(double number, std::string as = "") : value(number), shown(std::move(as)) {}
  Cell(std::int64_t number, std::string as = "") : value(number), shown(std::move(as)) {}

  std::variant<std::string, double, std::int64_t> value;
  std::string shown = {};
};

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

/// Columns as wide as their content; numbers to the right, text to the left.
std::string to_text(const Table& table);
/// RFC 4180, lines ending in LF: a header, then every row. Numbers in the shortest form that reads back.
std::string to_csv(const Table& table);
/// An array of one object for each row. What is not finite is null.
std::string to_json(const Table& table);

/// --csv and --json, which exclude each other.
void add_formats(CLI::App& command, Format& format);

/// Bytes as UTF-8 that can be shown anywhere: control characters, those of direction too, and what is no
/// UTF-8 become \xNN.
std::string printable(std::string_view bytes);

/// A number with three decimals. NaN has no sign: which one it gets is the machine's.
std::string three_decimals(double value);

/// "1 token", "2 tokens".
std::string counted(std::int64_t count, const std::string& what);

/// "1.5 MiB"; bytes below a KiB are written in full.
std::string shown_bytes(std::int64_t bytes);

/// Columns that UTF-8 text takes, one for each code point.
std::size_t width(std::string_view text);

}  // namespace rapt::cli
