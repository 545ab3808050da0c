// One large block of zeroed memory that lives as long as its owner: what a KV cache keeps its tokens in.
#pragma once

#include <cstddef>

namespace rapt {

/// Zeroed bytes from the system, page by page as they are first written; huge pages are asked for where they
/// help. Aligned to a page at least.
class Arena {
 public:
  Arena() = default;
  /// Throws std::bad_alloc.
  explicit Arena(std::ptrdiff_t bytes);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* get() const noexcept { return begin_; }
  std::ptrdiff_t size() const noexcept { return size_; }

 private:
  void* mapping_ = nullptr;  // what the system gave, a huge page more than asked for
  std::size_t mapped_ = 0;
  std::byte* begin_ = nullptr;
  std::ptrdiff_t size_ = 0;
};

}  // namespace rapt
