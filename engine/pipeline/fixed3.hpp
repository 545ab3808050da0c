// A double with three decimals, as the C library's "%.3f" rounds it, but without its cost and its locale.
// Most numbers of the staged program are printed from here, so it is in a header and branches little.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace rapt::pipeline {

/// Characters that write_fixed3 may touch from its start on: the longest double has 309 digits, a sign, a
/// point and three decimals.
inline constexpr std::size_t fixed3_room = 320;

namespace detail {

struct Digits {
  char text[3];
  unsigned char length;
};

/// 0 to 999 without leading zeros, and with them.
inline constexpr auto plain_digits = [] {
  std::array<Digits, 1000> table{};
  for (unsigned i = 0; i < 1000; ++i) {
    const char all[] = {static_cast<char>('0' + i / 100), static_cast<char>('0' + i / 10 % 10),
                        static_cast<char>('0' + i % 10)};
    const unsigned skip = i < 10 ? 2 : i < 100 ? 1 : 0;
    table[i].length = static_cast<unsigned char>(3 - skip);
    for (unsigned c = skip; c < 3; ++c) table[i].text[c - skip] = all[c];
  }
  return table;
}();
inline constexpr auto decimals = [] {
  std::array<std::array<char, 4>, 1000> table{};
  for (unsigned i = 0; i < 1000; ++i) {
    table[i] = {'.', static_cast<char>('0' + i / 100), static_cast<char>('0' + i / 10 % 10),
                static_cast<char>('0' + i % 10)};
  }
  return table;
}();

/// Numbers of 2^52 and more (they are integers), infinities and NaN.
inline char* write_large(char* out, double x) noexcept {
  if (std::isnan(x)) return std::copy_n("nan", 3, out);
  if (std::isinf(x)) {
    if (x < 0) *out++ = '-';
    return std::copy_n("inf", 3, out);
  }
  return std::to_chars(out, out + fixed3_room, x, std::chars_format::fixed, 3).ptr;
}

}  // namespace detail

/// Writes x and returns the end: the nearest multiple of 0.001, a tie to the even one, decided on the exact
/// binary value. What rounds to zero is "0.000" without a sign; infinities are "inf" and "-inf", every NaN is
/// "nan".
inline char* write_fixed3(char* out, double x) noexcept {
  constexpr unsigned bias = 1075;  // x = mantissa * 2^(exponent - 1075)
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const unsigned exponent = static_cast<unsigned>(bits >> 52) & 0x7FF;
  if (exponent >= bias) return detail::write_large(out, x);
  // Below 2^52: mantissa * 1000 is below 2^63 and the thousandths are its upper part, the rest decides the
  // rounding.
  std::uint64_t thousandths = 0;
  const unsigned shift = bias - exponent;
  if (shift < 64) {  // else below 2^-11, which rounds to zero
    const std::uint64_t product = ((bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52) * 1000;
    constexpr std::uint64_t half = std::uint64_t{1} << 63;
    const std::uint64_t rest = product << (64 - shift);
    thousandths = product >> shift;
    thousandths +=
        static_cast<std::uint64_t>(rest > half) | (static_cast<std::uint64_t>(rest == half) & thousandths);
  }
  *out = '-';
  out += static_cast<std::size_t>(bits >> 63) & static_cast<std::size_t>(thousandths != 0);
  const std::uint64_t whole = thousandths / 1000;
  if (whole < 1000) {
    const detail::Digits& digits = detail::plain_digits[whole];
    std::memcpy(out, digits.text, 3);
    out += digits.length;
  } else {
    out = std::to_chars(out, out + 20, whole).ptr;
  }
  std::memcpy(out, detail::decimals[thousandths - whole * 1000].data(), 4);
  return out + 4;
}

}  // namespace rapt::pipeline
