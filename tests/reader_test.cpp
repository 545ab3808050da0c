// Reading: what is accepted, the exact double, and for everything else one line with the field, the place and
// what was expected.
#include <rapt/error.hpp>
#include <rapt/pipeline.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "pipeline/decimal.hpp"

using namespace rapt;
using namespace rapt::pipeline;

namespace {

// n = d = 1: one number as the prompt, zeros behind it.
std::string with_prompt(const std::string& number) { return "1 1 0 1\nword\n1\n" + number + "\n0\n0\n0\n"; }

double read_prompt(const std::string& number) { return parse(with_prompt(number)).prompt.at(0); }

std::string refusal(std::string_view text, Limits limits = Limits::assignment) {
  try {
    parse(text, limits);
  } catch (const invalid_input& error) {
    return error.what();
  }
  return "accepted";
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("a text is read field by field, whatever blanks separate it") {
  const Input expected{2, 1, 1, {"b", "a"}, {1, 0}, {1.5, -2}, {3}, {4}, {5}, {6}};
  CHECK(parse("2 1 1 2 b a 1 0 1.5 -2 3 4 5 6") == expected);
  CHECK(parse("\n\t2\v1\f1\r\n2 b\ta\n\n1 0 1.5\r-2 3 4 5 6\n\n ") == expected);
  CHECK(expected.text_len() == 2);
}

TEST_CASE("integers are those of %d and reals those of %lf") {
  CHECK(parse("+1 001 -0 +01 w 001 0 0 0 0").n == 1);
  CHECK(same_bits(read_prompt(".5"), 0.5));
  CHECK(same_bits(read_prompt("5."), 5.0));
  CHECK(same_bits(read_prompt("+1"), 1.0));
  CHECK(same_bits(read_prompt("1e-3"), 1e-3));
  CHECK(same_bits(read_prompt("-0"), -0.0));
  CHECK(same_bits(read_prompt("-.0e7"), -0.0));
  CHECK(same_bits(read_prompt("1E+2"), 100.0));
  CHECK(same_bits(read_prompt("0007.250"), 7.25));
}

TEST_CASE("numbers at the ends of the range round, and only an overflow is refused") {
  CHECK(same_bits(read_prompt("1.7976931348623157e308"), 1.7976931348623157e308));
  CHECK(same_bits(read_prompt("1.7976931348623158e308"), 1.7976931348623157e308));
  CHECK(same_bits(read_prompt("5e-324"), 5e-324));
  CHECK(same_bits(read_prompt("2.5e-324"), 5e-324));
  CHECK(same_bits(read_prompt("2.4e-324"), 0.0));
  CHECK(same_bits(read_prompt("-1e-400"), -0.0));
  CHECK(same_bits(read_prompt("1e-99999999999999999999999999"), 0.0));
  CHECK(same_bits(read_prompt("0e99999999999999999999999999"), 0.0));
  CHECK(same_bits(read_prompt("0." + std::string(5000, '0') + "1e5001"), 1.0));
  CHECK(same_bits(read_prompt("1" + std::string(5000, '0') + "e-5000"), 1.0));
  const std::string expected =
      "prompt[0][0]: line 4, column 1: expected a number that a double can hold, got ";
  CHECK(refusal(with_prompt("1.7976931348623159e308")) == expected + "'1.7976931348623159e308'");
  CHECK(refusal(with_prompt("-1e309")) == expected + "'-1e309'");
  CHECK(refusal(with_prompt("1e99999999999999999999")) == expected + "'1e99999999999999999999'");
  CHECK(refusal(with_prompt("1" + std::string(400, '0'))) == expected + "'1" + std::string(23, '0') + "...'");
}

TEST_CASE("a number of thousands of digits is rounded by the last of them") {
  // 2^53 + 1 is a tie between two doubles.
  const std::string tie = "9007199254740993";
  const std::string zeros(4000, '0');
  CHECK(same_bits(read_prompt(tie), 9007199254740992.0));
  CHECK(same_bits(read_prompt(tie + "." + zeros), 9007199254740992.0));
  CHECK(same_bits(read_prompt(tie + "." + zeros + "1"), 9007199254740994.0));
  CHECK(same_bits(read_prompt(tie + zeros + "1e-4001"), 9007199254740994.0));
  CHECK(same_bits(read_prompt("-" + tie + "." + zeros + "1"), -9007199254740994.0));
}

TEST_CASE("reading agrees with the C library on random text") {
  std::mt19937_64 random(1);
  char text[2000];
  for (int i = 0; i < 30000; ++i) {
    double x;
    const std::uint64_t bits = random();
    std::memcpy(&x, &bits, sizeof x);
    if (!std::isfinite(x)) continue;
    if (i % 3 == 0) x = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 80) - 60);
    switch (random() % 4) {
      case 0:
        std::snprintf(text, sizeof text, "%.*g", static_cast<int>(random() % 20), x);
        break;
      case 1:
        std::snprintf(text, sizeof text, "%.*e", static_cast<int>(random() % 800), x);
        break;
      case 2:
        std::snprintf(text, sizeof text, "%.*f", static_cast<int>(random() % 30), x);
        break;
      default:
        std::snprintf(text, sizeof text, "%+.17g", x);
        break;
    }
    const double expected = std::strtod(text, nullptr);
    if (std::isinf(expected)) continue;
    Decimal decimal;
    bool accepted = true;
    for (const char* c = text; *c != '\0'; ++c) accepted = accepted && decimal.accept(*c);
    INFO(text);
    REQUIRE((accepted && decimal.complete()));
    REQUIRE(same_bits(decimal.value().value(), expected));
    REQUIRE(same_bits(read_prompt(text), expected));
  }
}

TEST_CASE("a midpoint between doubles and its neighbours in decimal are told apart") {
  std::mt19937_64 random(2);
  char text[1200];
  for (int i = 0; i < 2000; ++i) {
    // A 54-bit odd integer times a power of two is a midpoint; a long double holds it, and printf prints all
    // its digits.
    const auto midpoint =
        std::ldexp(static_cast<long double>(random() >> 10 | 1), static_cast<int>(random() % 1900) - 1070);
    const int length = std::snprintf(text, sizeof text, "%.1100Le", midpoint);
    REQUIRE(length < static_cast<int>(sizeof text));
    std::string digits = text;
    CHECK(same_bits(read_prompt(digits), std::strtod(digits.c_str(), nullptr)));
    const std::size_t mark = digits.find('e');
    digits.insert(mark, "1");
    CHECK(same_bits(read_prompt(digits), std::strtod(digits.c_str(), nullptr)));
  }
}

TEST_CASE("the place does not depend on how the source cuts the text") {
  std::string text = "3 2 0 2\n" + std::string(70000, ' ') + "alpha\n\n beta 1 1 1\n";
  for (int i = 0; i < 6; ++i) text += "0.25" + std::string(30000, i % 2 == 0 ? '0' : ' ') + " ";
  text += "\n1 2 3 4 5 6 7 8 9 1x 11 12\n";
  const std::string whole = refusal(text);
  CHECK(whole == "wv[0][1]: line 6, column 19: expected a number, got '1x'");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{4096}}) {
    std::size_t at = 0;
    const auto source = [&](char* buffer, std::size_t size) {
      const std::size_t count = std::min({piece, size, text.size() - at});
      text.copy(buffer, count, at);
      at += count;
      return count;
    };
    CHECK_THROWS_WITH(parse(source), whole);
  }
}

TEST_CASE("a source's own failure passes through") {
  struct Broken {};
  CHECK_THROWS_AS(parse([](char*, std::size_t) -> std::size_t { throw Broken{}; }), Broken);
}

TEST_CASE("malformed text is refused with one line that says where and what") {
  const auto malformed = [](std::string_view text) { return refusal(text); };
  CHECK(malformed("") == "n: line 1, column 1: expected an integer from 1 to 64, got the end of the input");
  CHECK(malformed("\n\n ") ==
        "n: line 3, column 2: expected an integer from 1 to 64, got the end of the input");
  CHECK(malformed("\xEF\xBB\xBF"
                  "1 1 0 1") ==
        "n: line 1, column 1: expected an integer from 1 to 64, got a byte-order mark");
  CHECK(malformed("0 1 0 1") == "n: line 1, column 1: expected an integer from 1 to 64, got '0'");
  CHECK(malformed("65 1 0 1") == "n: line 1, column 1: expected an integer from 1 to 64, got '65'");
  CHECK(malformed("-1 1 0 1") == "n: line 1, column 1: expected an integer from 1 to 64, got '-1'");
  CHECK(malformed("1 65 0 1") == "d: line 1, column 3: expected an integer from 1 to 64, got '65'");
  CHECK(malformed("1 1 33 1") == "g: line 1, column 5: expected an integer from 0 to 32, got '33'");
  CHECK(malformed("1 1 0 0") == "text_len: line 1, column 7: expected an integer from 1 to 64, got '0'");
  CHECK(malformed("1.0 1 0 1") == "n: line 1, column 1: expected an integer from 1 to 64, got '1.0'");
  CHECK(malformed("1 + 0 1") == "d: line 1, column 3: expected an integer from 1 to 64, got '+'");
  CHECK(malformed("1 1 0x1 1") == "g: line 1, column 5: expected an integer from 0 to 32, got '0x1'");
  CHECK(malformed("99999999999999999999999999 1") ==
        "n: line 1, column 1: expected an integer from 1 to 64, got '999999999999999999999999...'");
  CHECK(malformed("1 1 0 1\nabcdefghijklmnopqrstu") ==
        "word[0]: line 2, column 1: expected a word of at most 20 bytes, got 'abcdefghijklmnopqrstu'");
  CHECK(malformed({"1 1 0 2 ok a\0b 1 1 1 1 1", 24}) ==
        "word[1]: line 1, column 12: expected a word without NUL bytes, got 'a\\x00b'");
  CHECK(malformed("1 1 0 2 ok") == "word[1]: line 1, column 11: expected a word, got the end of the input");
  CHECK(malformed("1 1 0 1 w\n2") == "mask[0]: line 2, column 1: expected an integer from 0 to 1, got '2'");
  CHECK(malformed("1 1 0 1 w\n-1") == "mask[0]: line 2, column 1: expected an integer from 0 to 1, got '-1'");
  CHECK(malformed({"1 1 0 1 w\n\0", 11}) ==
        "mask[0]: line 2, column 1: expected an integer from 0 to 1, got '\\x00'");
  CHECK(malformed("1 1 1 1 w 1 1\n\n x") == "generated[0][0]: line 3, column 2: expected a number, got 'x'");
  CHECK(malformed("1 1 0 1 w 1 1 1 1") ==
        "wv[0][0]: line 1, column 18: expected a number, got the end of the input");
  CHECK(malformed("1 1 0 1 w 1 1 1 1 1 1") ==
        "after wv[0][0]: line 1, column 21: expected the end of the input, got '1'");
  CHECK(malformed({"1 1 0 1 w 1 1 1 1 1\n\0", 21}) ==
        "after wv[0][0]: line 2, column 1: expected the end of the input, got '\\x00'");
}

TEST_CASE("limits that are no enumerator are refused") {
  CHECK_THROWS_WITH(parse("1 1 0 1\nw\n1\n0\n0\n0\n0\n", static_cast<Limits>(2)),
                    "limits: 2, expected assignment or unbounded");
}

TEST_CASE("what is no number is refused") {
  for (const std::string text : {"abc",
                                 "nan",
                                 "NaN",
                                 "inf",
                                 "-inf",
                                 "infinity",
                                 "0x10",
                                 "0x1p3",
                                 ".",
                                 "+",
                                 "-",
                                 "+-1",
                                 "--1",
                                 "e5",
                                 ".e5",
                                 "1e",
                                 "1e+",
                                 "1e-",
                                 "1e5.",
                                 "1.2.3",
                                 "1,5",
                                 "1f",
                                 "1_000",
                                 "1e5e5",
                                 "\xC2\xA0"
                                 "1",
                                 "1\xC2\xA0",
                                 "(1)",
                                 "1;",
                                 "- 1",
                                 "\xEF\xBB\xBF"
                                 "1",
                                 "\x1A"}) {
    INFO(text);
    CHECK(refusal(with_prompt(text)).rfind("prompt[0][0]: line 4, column 1: expected a number, got '", 0) ==
          0);
  }
}

TEST_CASE("a message is one printable line, however strange the token") {
  std::string token;
  for (int byte = 1; byte < 256; ++byte) {
    if (std::strchr(" \t\n\v\f\r", byte) == nullptr) token += static_cast<char>(byte);
  }
  for (const std::string& text : {token, std::string(1000, '\\'), std::string(1000, '\x01')}) {
    const std::string message = refusal(with_prompt(text));
    CHECK(message.size() < 200);
    CHECK(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c < 127; }));
  }
}

TEST_CASE(
    "without limits sizes may grow but a word may not, and a size is not believed before its numbers are "
    "there") {
  std::string text = "65 1 33 65\n";
  for (int i = 0; i < 65; ++i) text += "w ";
  for (int i = 0; i < 65; ++i) text += "1 ";
  for (int i = 0; i < 65 + 33 + 3; ++i) text += "0 ";
  CHECK(refusal(text) == "n: line 1, column 1: expected an integer from 1 to 64, got '65'");
  CHECK(parse(text, Limits::unbounded).n == 65);
  CHECK(refusal("1 1 0 1 abcdefghijklmnopqrstu", Limits::unbounded) ==
        "word[0]: line 1, column 9: expected a word of at most 20 bytes, got 'abcdefghijklmnopqrstu'");
  CHECK(refusal("2147483647 2147483647 2147483647 2147483647 w", Limits::unbounded) ==
        "word[1]: line 1, column 46: expected a word, got the end of the input");
  CHECK(refusal("2147483648", Limits::unbounded) ==
        "n: line 1, column 1: expected an integer from 1 to 2147483647, got '2147483648'");
}
