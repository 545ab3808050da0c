// One large block of zeroed memory that lives as long as its owner: what a KV cache keeps its tokens in.
#pragma once

#include <cstddef>

#include "workspace.hpp"

namespace rapt {

/// Zeroed bytes: many come from the system, page by page as they are first written, on huge pages where that
/// helps; few come from the heap, whose pages are warm. Aligned to a cache line at least.
class Arena {
 public:
  /// Throws std::bad_alloc.
  explicit Arena(std::ptrdiff_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* get() const noexcept { return begin_; }
  std::ptrdiff_t size() const noexcept { return size_; }

 private:
  AlignedArray<std::byte> heap_;
  void* mapping_ = nullptr;  // what the system gave, a huge page more than asked for
  std::size_t mapped_ = 0;
  std::byte* begin_ = nullptr;
  std::ptrdiff_t size_ = 0;
};

}  // namespace rapt
