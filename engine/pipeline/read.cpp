// The text format, field by field. One pass; everything is checked here, and a refusal names the field, the
// place and what was expected.
#include <rapt/error.hpp>
#include <rapt/pipeline.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "float_mode.hpp"
#include "pipeline/decimal.hpp"
#include "pipeline/scanner.hpp"
#include "quoted_bytes.hpp"

namespace rapt::pipeline {
namespace {

constexpr std::ptrdiff_t longest_word = 20;
constexpr std::ptrdiff_t most_reserved = 4096;  // elements; sizes are believed only as far as text was read

/// A field by name, and by index where it has one: prompt[3][7].
struct Field {
  const char* name;
  std::ptrdiff_t row = -1;
  std::ptrdiff_t column = -1;

  std::string text() const {
    std::string text = name;
    if (row >= 0) text.append("[").append(std::to_string(row)).append("]");
    if (column >= 0) text.append("[").append(std::to_string(column)).append("]");
    return text;
  }
};

/// The first bytes of a token, kept for a message.
class TokenHead {
 public:
  void add(char c) {
    if (count_ == capacity) {
      cut_ = true;
    } else {
      bytes_[count_++] = c;
    }
  }
  bool full() const { return cut_; }

  std::string quoted() const { return quoted_bytes({bytes_, count_}, cut_); }
  bool is_byte_order_mark() const { return count_ >= 3 && std::memcmp(bytes_, "\xEF\xBB\xBF", 3) == 0; }

 private:
  static constexpr std::size_t capacity = 24;
  char bytes_[capacity];
  std::size_t count_ = 0;
  bool cut_ = false;
};

class Reader {
 public:
  Reader(Source source, Limits limits) : scanner_(source), bounded_(limits == Limits::assignment) {}

  Input read() {
    Input input;
    const std::ptrdiff_t most = std::numeric_limits<int>::max();
    input.n = integer({"n"}, 1, bounded_ ? 64 : most);
    input.d = integer({"d"}, 1, bounded_ ? 64 : most);
    input.g = integer({"g"}, 0, bounded_ ? 32 : most);
    const std::ptrdiff_t text_len = integer({"text_len"}, 1, bounded_ ? 64 : most);
    input.words.reserve(static_cast<std::size_t>(std::min(text_len, most_reserved)));
    for (std::ptrdiff_t i = 0; i < text_len; ++i) input.words.push_back(word({"word", i}));
    input.mask.reserve(static_cast<std::size_t>(std::min(input.n, most_reserved)));
    for (std::ptrdiff_t i = 0; i < input.n; ++i) {
      input.mask.push_back(static_cast<unsigned char>(integer({"mask", i}, 0, 1)));
    }
    input.prompt = matrix("prompt", input.n, input.d);
    input.generated = matrix("generated", input.g, input.d);
    input.wq = matrix("wq", input.d, input.d);
    input.wk = matrix("wk", input.d, input.d);
    input.wv = matrix("wv", input.d, input.d);
    const std::string last = Field{"after wv", input.d - 1, input.d - 1}.text();
    if (scanner_.skip_blanks()) refuse({last.c_str()}, "the end of the input", scanner_.place(), {});
    return input;
  }

 private:
  bool in_token() { return scanner_.more() && !is_blank(scanner_.current()); }

  char take(TokenHead& head) {
    const char c = scanner_.current();
    head.add(c);
    scanner_.advance();
    return c;
  }

  std::ptrdiff_t integer(const Field& field, std::ptrdiff_t least, std::ptrdiff_t most) {
    const auto expected = [&] {
      return "an integer from " + std::to_string(least) + " to " + std::to_string(most);
    };
    if (!scanner_.skip_blanks()) refuse_end(field, expected());
    const Place place = scanner_.place();
    TokenHead head;
    bool negative = false;
    if (scanner_.current() == '+' || scanner_.current() == '-') negative = take(head) == '-';
    std::ptrdiff_t value = 0;
    bool digits = false;
    while (in_token()) {
      const char c = scanner_.current();
      if (c < '0' || c > '9') refuse(field, expected(), place, head);
      take(head);
      value = std::min(most + 1, value * 10 + (c - '0'));
      digits = true;
    }
    if (negative) value = -value;
    if (!digits || value < least || value > most) refuse(field, expected(), place, head);
    return value;
  }

  std::string word(const Field& field) {
    if (!scanner_.skip_blanks()) refuse_end(field, "a word");
    const Place place = scanner_.place();
    TokenHead head;
    std::string word;
    while (in_token()) {
      if (scanner_.current() == '\0') refuse(field, "a word without NUL bytes", place, head);
      if (std::ssize(word) == longest_word) refuse(field, "a word of at most 20 bytes", place, head);
      word += take(head);
    }
    return word;
  }

  double real(const char* name, std::ptrdiff_t row, std::ptrdiff_t column) {
    if (scanner_.skip_blanks()) {
      double value;
      if (const char* end = short_real(scanner_.at_hand(), value)) {
        scanner_.advance_to(end);
        return value;
      }
    }
    return long_real({name, row, column});
  }

  /// Reads a number that two exact doubles give by one division, rounded once: an integer below 2^53 and a
  /// power of ten up to 10^22 (Clinger, How to read floating point numbers accurately, 1990). nullptr when it
  /// is no such number, or its end is not at hand.
  static const char* short_real(const char* p, double& value) {
    static constexpr double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                       1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
    const bool negative = *p == '-';
    p += negative || *p == '+';
    std::uint64_t integer = 0;
    const auto digits = [&] {
      const char* start = p;
      for (unsigned digit; (digit = static_cast<unsigned char>(*p) - unsigned{'0'}) <= 9; ++p)
        integer = integer * 10 + digit;
      return p - start;
    };
    std::ptrdiff_t count = digits();
    std::ptrdiff_t decimals = 0;
    if (*p == '.') {
      ++p;
      decimals = digits();
      count += decimals;
    }
    if (count == 0 || count > 19 || integer >> 53 != 0 || !is_blank(*p)) return nullptr;
    const double magnitude = static_cast<double>(integer) / power[decimals];
    value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) |
                                  std::uint64_t{negative} << 63);  // no branch on a sign
    return p;
  }

  double long_real(const Field& field) {
    if (!scanner_.skip_blanks()) refuse_end(field, "a number");
    const Place place = scanner_.place();
    TokenHead head;
    Decimal decimal;
    while (in_token()) {
      if (!decimal.accept(scanner_.current())) refuse(field, "a number", place, head);
      take(head);
    }
    if (!decimal.complete()) refuse(field, "a number", place, head);
    const std::optional<double> value = decimal.value();
    if (!value) refuse(field, "a number that a double can hold", place, head);
    return *value;
  }

  std::vector<double> matrix(const char* name, std::ptrdiff_t rows, std::ptrdiff_t columns) {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(std::min(rows * columns, most_reserved)));
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      for (std::ptrdiff_t j = 0; j < columns; ++j) values.push_back(real(name, i, j));
    }
    return values;
  }

  /// Refuses the token whose first bytes are in head and whose rest is still to come.
  [[noreturn]] void refuse(const Field& field, const std::string& expected, Place place, TokenHead head) {
    while (!head.full() && in_token()) take(head);
    const bool first = place.line == 1 && place.column == 1;
    refuse_got(field, expected, place,
               first && head.is_byte_order_mark() ? "a byte-order mark" : head.quoted());
  }

  [[noreturn]] void refuse_end(const Field& field, const std::string& expected) {
    refuse_got(field, expected, scanner_.place(), "the end of the input");
  }

  [[noreturn]] static void refuse_got(const Field& field, const std::string& expected, Place place,
                                      const std::string& got) {
    throw invalid_input(field.text() + ": line " + std::to_string(place.line) + ", column " +
                        std::to_string(place.column) + ": expected " + expected + ", got " + got);
  }

  Scanner scanner_;
  bool bounded_;
};

}  // namespace

Input parse(Source source, Limits limits) {
  const StandardFloatMode mode;
  if (limits != Limits::assignment && limits != Limits::unbounded) {
    throw invalid_input("limits: " + std::to_string(static_cast<int>(limits)) +
                        ", expected assignment or unbounded");
  }
  return Reader(source, limits).read();
}

Input parse(std::string_view text, Limits limits) {
  return parse(
      [&text](char* buffer, std::size_t size) {
        const std::size_t count = std::min(size, text.size());
        text.copy(buffer, count);
        text.remove_prefix(count);
        return count;
      },
      limits);
}

}  // namespace rapt::pipeline
