// Comparisons by bits.
#include "support/answer.hpp"

#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>

namespace rapt::test {
namespace {

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

std::string number(double value) {
  char text[96];
  std::snprintf(text, sizeof text, "%.17g (%a, 0x%016" PRIx64 ")", value, value,
                std::bit_cast<std::uint64_t>(value));
  return text;
}

std::string report_difference(const AttentionReport& expected, const AttentionReport& actual) {
  const auto both = [](const char* what, std::ptrdiff_t a, std::ptrdiff_t b) {
    return a == b
               ? std::string()
               : std::string(what) + ": expected " + std::to_string(a) + ", got " + std::to_string(b) + '\n';
  };
  return both("dot_products", expected.dot_products, actual.dot_products) +
         both("visible_pairs", expected.visible_pairs, actual.visible_pairs) +
         both("bytes_read", expected.bytes_read, actual.bytes_read);
}

}  // namespace

template <int N>
std::string difference(const char* what, const Array<N>& expected, const Array<N>& actual) {
  if (expected.extents != actual.extents) return std::string(what) + ": shapes differ\n";
  std::size_t first = 0, count = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    if (same(expected.values[i], actual.values[i])) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return {};
  std::string index;
  std::size_t rest = first;
  for (std::size_t axis = N; axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(expected.extents[axis]);
    index = std::to_string(rest % extent) + (index.empty() ? "" : ", ") + index;
    rest /= extent;
  }
  return std::string(what) + "[" + index + "]: expected " + number(expected.values[first]) + ", got " +
         number(actual.values[first]) + "; " + std::to_string(count) + " of " +
         std::to_string(expected.values.size()) + " differ\n";
}

template std::string difference(const char*, const Array<1>&, const Array<1>&);
template std::string difference(const char*, const Array<2>&, const Array<2>&);
template std::string difference(const char*, const Array<3>&, const Array<3>&);
template std::string difference(const char*, const Array<4>&, const Array<4>&);

std::string difference(const Answer& expected, const Answer& actual) {
  std::string text = difference("out", expected.out, actual.out);
  if (expected.weights && actual.weights) text += difference("weights", *expected.weights, *actual.weights);
  if (expected.scores && actual.scores) text += difference("scores", *expected.scores, *actual.scores);
  if (expected.lse && actual.lse) text += difference("lse", *expected.lse, *actual.lse);
  return text + report_difference(expected.report, actual.report);
}

std::uint64_t hash_of(const Array<4>& values) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const double value : values.values) {
    const auto bits = std::isnan(value) ? 0x7ff8000000000000U : std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ ((bits >> shift) & 0xff)) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace rapt::test
