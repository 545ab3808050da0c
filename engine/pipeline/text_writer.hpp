// Characters out, 64 KiB at a time. Remembers a sink that failed and bothers it no more.
#pragma once

#include <rapt/pipeline.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

#include "pipeline/fixed3.hpp"

namespace rapt::pipeline {

class TextWriter {
 public:
  explicit TextWriter(Sink sink) : sink_(sink), buffer_(std::make_unique_for_overwrite<char[]>(size)) {
    at_ = buffer_.get();
  }

  bool ok() const noexcept { return ok_; }

  bool flush() {
    const auto count = static_cast<std::size_t>(at_ - buffer_.get());
    if (ok_ && count != 0) ok_ = sink_({buffer_.get(), count});
    at_ = buffer_.get();
    return ok_;
  }

  void text(std::string_view text) {
    while (!text.empty()) {
      const std::size_t count = std::min(text.size(), room(1));
      at_ = std::copy_n(text.data(), count, at_);
      text.remove_prefix(count);
    }
  }

  /// The text count times. Runs are most of a masked matrix and of a one-hot table: copies of copies, not one
  /// after the other.
  void repeat(std::string_view text, std::ptrdiff_t count) {
    while (count > 0) {
      const auto times = std::min(static_cast<std::size_t>(count), room(text.size()) / text.size());
      const std::size_t total = times * text.size();
      std::memcpy(at_, text.data(), text.size());
      for (std::size_t done = text.size(); done < total; done *= 2)
        std::memcpy(at_ + done, at_, std::min(done, total - done));
      at_ += total;
      count -= static_cast<std::ptrdiff_t>(times);
    }
  }

  /// Numbers with single spaces between them and a line's end after the last. count >= 1.
  void row(const double* values, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = 0; i < count;) {
      room(fixed3_room);
      char* const start = at_;
      at_ = write_fixed3(at_, values[i]);
      *at_++ = ' ';
      const std::ptrdiff_t run = equal_run(values + i, count - i);
      if (run > 1) {
        char one[fixed3_room];
        const std::string_view text{one, static_cast<std::size_t>(at_ - start)};
        std::copy(start, at_, one);
        repeat(text, run - 1);
      }
      i += run;
    }
    replace_last('\n');
  }

  /// Puts c in the place of the last character, which was written just now.
  void replace_last(char c) noexcept { at_[-1] = c; }

 private:
  static constexpr std::size_t size = 64 * 1024;

  /// Makes room for at least wanted characters; what there is.
  std::size_t room(std::size_t wanted) {
    if (static_cast<std::size_t>(buffer_.get() + size - at_) < wanted) flush();
    return static_cast<std::size_t>(buffer_.get() + size - at_);
  }

  /// How many values from the first on have its bits.
  static std::ptrdiff_t equal_run(const double* values, std::ptrdiff_t count) noexcept {
    const auto first = std::bit_cast<std::uint64_t>(values[0]);
    std::ptrdiff_t run = 1;
    while (run < count && std::bit_cast<std::uint64_t>(values[run]) == first) ++run;
    return run;
  }

  Sink sink_;
  std::unique_ptr<char[]> buffer_;
  char* at_;
  bool ok_ = true;
};

}  // namespace rapt::pipeline
