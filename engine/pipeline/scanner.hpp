// Bytes in, 64 KiB at a time, with the line and column of each. Knows blanks and places, nothing of the
// format.
#pragma once

#include <rapt/pipeline.hpp>

#include <array>
#include <cstdint>
#include <memory>

namespace rapt::pipeline {

/// A place in the text. Lines end at LF; both count from 1, columns in bytes.
struct Place {
  std::int64_t line;
  std::int64_t column;
};

inline bool is_blank(char c) noexcept {
  static constexpr auto table = [] {
    std::array<bool, 256> blank{};
    for (const char each : {' ', '\t', '\n', '\v', '\f', '\r'})
      blank[static_cast<unsigned char>(each)] = true;
    return blank;
  }();
  return table[static_cast<unsigned char>(c)];
}

class Scanner {
 public:
  explicit Scanner(Source source)
      : source_(source), buffer_(std::make_unique_for_overwrite<char[]>(size + 1)) {
    cursor_ = end_ = buffer_.get();
    *end_ = '\0';
  }

  /// Moves to the next byte that is not blank; false at the end of the text.
  bool skip_blanks() {
    while (more()) {
      if (!is_blank(*cursor_)) return true;
      if (*cursor_++ == '\n') ++line_, line_start_ = offset();
    }
    return false;
  }

  /// Whether current() is a byte of the text.
  bool more() { return cursor_ != end_ || refill(); }

  char current() const noexcept { return *cursor_; }
  void advance() noexcept { ++cursor_; }

  /// The bytes at hand from current() on. They end with a NUL that is not text, so a loop that stops at one
  /// needs no bound.
  const char* at_hand() const noexcept { return cursor_; }
  void advance_to(const char* position) noexcept { cursor_ = position; }

  Place place() const noexcept { return {line_, offset() - line_start_ + 1}; }
  std::int64_t offset() const noexcept { return consumed_ + (cursor_ - buffer_.get()); }

 private:
  static constexpr std::size_t size = 64 * 1024;

  bool refill() {
    if (finished_) return false;
    consumed_ += cursor_ - buffer_.get();
    cursor_ = end_ = buffer_.get();
    *end_ = '\0';
    const std::size_t got = source_(end_, size);
    finished_ = got == 0;
    end_ += got;
    *end_ = '\0';
    return !finished_;
  }

  Source source_;
  std::unique_ptr<char[]> buffer_;
  const char* cursor_;
  char* end_;
  std::int64_t consumed_ = 0;  // bytes of the text before the buffer
  std::int64_t line_ = 1;
  std::int64_t line_start_ = 0;  // offset of the first byte of the line
  bool finished_ = false;
};

}  // namespace rapt::pipeline
