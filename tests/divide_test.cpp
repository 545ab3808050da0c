// The divide kernel makes quotients of FMAs where it may: on every ISA they are those of `/`, bit for bit.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "support/isas.hpp"

namespace rapt::test {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
class Operands {
 public:
  explicit Operands(unsigned seed) : random_(seed) {}

  /// A sum of weights, or a little beyond what one can be.
  T divisor() { return number(0, -2, 42); }
  /// Around the ends of the range that is not divided (simd::exponents_in_middle), near 1, and anything at
  /// all; zeros too.
  T dividend(int kind) {
    const bool negative = pick(2) == 1;
    if (kind == 0) return number(negative, -3, 3);
    if (kind == 1) return number(negative, sizeof(T) == 4 ? -66 : -514, sizeof(T) == 4 ? 68 : 516);
    if (pick(8) == 0) return negative ? T(-0.0) : T(0);
    return number(negative, 1 - limits::max_exponent, limits::max_exponent);
  }
  /// Its quotient is as close to the middle of two neighbours as any can be, the hardest to round: with d the
  /// divisor's significand, (m d + c) / 2^p for a small c and an odd m of p + 1 bits, which c and d decide. A
  /// random significand where none of p bits comes of it.
  T near_midpoint(T divisor) {
    constexpr int p = limits::digits;
    int exponent = 0;
    auto d = static_cast<std::uint64_t>(std::ldexp(std::frexp(divisor, &exponent), p));
    d >>= std::countr_zero(d);
    std::uint64_t inverse = d;  // modulo 2^64, twice as many bits of it with each step
    for (int step = 0; step < 6; ++step) inverse *= 2 - d * inverse;
    const std::uint64_t c = 2 * pick(100) + 1;
    const bool below = pick(2) == 0;
    const std::uint64_t top = std::uint64_t{1} << p, m = top + ((below ? c : -c) * inverse & (top - 1));
    const unsigned __int128 product = static_cast<unsigned __int128>(m) * d;
    const auto dividend = static_cast<std::uint64_t>((below ? product - c : product + c) >> p);
    if (dividend >> p != 0 && dividend % 2 != 0) return number(false, 0, 0);
    return std::ldexp(static_cast<T>(dividend), static_cast<int>(pick(40)) - 20 - p);
  }

 private:
  using limits = std::numeric_limits<T>;
  static constexpr int fraction_bits = limits::digits - 1;

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  T number(bool negative, int least_exponent, int most_exponent) {
    constexpr Bits<T> all = (Bits<T>{1} << fraction_bits) - 1;
    const auto random = static_cast<Bits<T>>(random_()) & all;
    const Bits<T> few = random % 8;
    const Bits<T> fractions[]{few, all - few, random & (all >> (fraction_bits / 2)), random};
    const int exponent =
        least_exponent +
        static_cast<int>(pick(static_cast<std::uint64_t>(most_exponent - least_exponent + 1)));
    const auto biased = static_cast<Bits<T>>(exponent + limits::max_exponent - 1);
    return std::bit_cast<T>(Bits<T>{negative} << (8 * sizeof(T) - 1) | biased << fraction_bits |
                            fractions[pick(4)]);
  }
  std::mt19937_64 random_;
};

template <class T>
void check_quotients(const Isa& isa) {
  Operands<T> operands(1);
  std::vector<T> dividends(67),
      quotients(67);  // whole groups of vectors, single ones and a rest on every ISA
  for (int row = 0; row < 20000; ++row) {
    const T divisor = operands.divisor();
    for (T& dividend : dividends)
      dividend = row % 4 == 3 ? operands.near_midpoint(divisor) : operands.dividend(row % 4);
    isa.table->template of<T>().divide(dividends.data(), divisor, quotients.data(), 67);
    for (std::size_t j = 0; j < 67; ++j) {
      const T expected = dividends[j] / divisor;
      if (expected != expected && quotients[j] != quotients[j]) continue;
      if (std::bit_cast<Bits<T>>(expected) == std::bit_cast<Bits<T>>(quotients[j])) continue;
      CAPTURE(isa.table->name, dividends[j], divisor, expected, quotients[j]);
      FAIL();
    }
  }
}

TEST_CASE("divide gives the bits of division") {
  for_each_isa([](const Isa& isa) {
    check_quotients<float>(isa);
    check_quotients<double>(isa);
  });
}

}  // namespace
}  // namespace rapt::test
