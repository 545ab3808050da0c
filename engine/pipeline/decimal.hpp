// Decimal text to the nearest double, without a locale and in bounded memory however long the text is.
// The reader feeds it one character at a time; what it refuses is decided by the grammar here and nowhere
// else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rapt::pipeline {

/// [+-] digits [. digits] [(e|E) [+-] digits], with at least one digit before the exponent. No hexadecimal,
/// inf or nan.
class Decimal {
 public:
  /// Takes the next character; false when no number goes on with it.
  bool accept(char c) noexcept;

  /// Whether what was accepted so far is a number.
  bool complete() const noexcept;

  /// The double nearest to a complete number (ties to even, underflow rounds); nothing when it is too large
  /// for a double.
  std::optional<double> value() const noexcept;

 private:
  // A midpoint between two doubles has at most 767 significant digits: after these, only whether a digit is
  // not 0 matters.
  static constexpr std::ptrdiff_t kept = 800;
  enum class State { start, sign, integer, point, fraction, mark, exponent_sign, exponent };

  bool accept_digit(char c) noexcept;

  State state_ = State::start;
  bool negative_ = false;
  bool exponent_negative_ = false;
  bool dropped_nonzero_ = false;
  std::int64_t scale_ = 0;     // the power of ten of the last kept digit
  std::int64_t exponent_ = 0;  // as written, saturated
  std::ptrdiff_t count_ = 0;   // significant digits kept
  char digits_[kept + 32];     // room for the sticky digit and an exponent
};

}  // namespace rapt::pipeline
