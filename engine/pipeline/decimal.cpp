#include "pipeline/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rapt::pipeline {
namespace {

constexpr std::int64_t exponent_limit =
    100'000'000'000'000'000;  // beyond any count of digits that can be read

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace

bool Decimal::accept_digit(char c) noexcept {
  switch (state_) {
    case State::start:
    case State::sign:
      state_ = State::integer;
      break;
    case State::point:
      state_ = State::fraction;
      break;
    case State::mark:
    case State::exponent_sign:
      state_ = State::exponent;
      break;
    default:
      break;
  }
  if (state_ == State::exponent) {
    exponent_ = std::min(exponent_limit, exponent_ * 10 + (c - '0'));
    return true;
  }
  const bool in_fraction = state_ == State::fraction;
  if (count_ == 0 && c == '0') {
    scale_ -= in_fraction;
  } else if (count_ < kept) {
    digits_[count_++] = c;
    scale_ -= in_fraction;
  } else {
    dropped_nonzero_ = dropped_nonzero_ || c != '0';
    scale_ += !in_fraction;
  }
  return true;
}

bool Decimal::accept(char c) noexcept {
  if (is_digit(c)) return accept_digit(c);
  const bool has_digits = state_ == State::integer || state_ == State::fraction;
  if (c == '+' || c == '-') {
    if (state_ == State::start) {
      negative_ = c == '-';
      state_ = State::sign;
      return true;
    }
    if (state_ == State::mark) {
      exponent_negative_ = c == '-';
      state_ = State::exponent_sign;
      return true;
    }
    return false;
  }
  if (c == '.') {
    if (state_ == State::integer) return state_ = State::fraction, true;
    if (state_ == State::start || state_ == State::sign) return state_ = State::point, true;
    return false;
  }
  if ((c == 'e' || c == 'E') && has_digits) return state_ = State::mark, true;
  return false;
}

bool Decimal::complete() const noexcept {
  return state_ == State::integer || state_ == State::fraction || state_ == State::exponent;
}

std::optional<double> Decimal::value() const noexcept {
  const double zero = negative_ ? -0.0 : 0.0;
  if (count_ == 0) return zero;
  std::int64_t scale = scale_ + (exponent_negative_ ? -exponent_ : exponent_);
  const std::int64_t leading = scale + count_;  // the value is 0.d1d2... * 10^leading
  if (leading > 310) return std::nullopt;
  if (leading < -330) return zero;

  char text[sizeof digits_];
  char* end = std::copy(digits_, digits_ + count_, text);
  if (dropped_nonzero_) *end++ = '1', --scale;
  *end++ = 'e';
  end = std::to_chars(end, text + sizeof text, scale).ptr;
  double magnitude = 0;
  const auto [stop, error] = std::from_chars(text, end, magnitude);
  // from_chars reports both ends of the range with the same code; only the large one is an error here.
  if (error == std::errc::result_out_of_range) {
    if (leading > 0) return std::nullopt;
    return zero;
  }
  if (std::isinf(magnitude)) return std::nullopt;
  return negative_ ? -magnitude : magnitude;
}

}  // namespace rapt::pipeline
