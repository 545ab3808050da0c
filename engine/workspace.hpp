// Memory for kernels: aligned, uninitialised, sized with overflow checks, freed with its owner.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace rapt {

using Size = std::ptrdiff_t;

inline constexpr std::size_t alignment = 64;  // a cache line, and the widest vector

/// a * b. Throws std::bad_alloc when the product does not fit: every caller is about to allocate that much.
inline Size checked_product(Size a, Size b) {
  Size product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw std::bad_alloc();
  return product;
}

/// n rounded up to a multiple of `to`.
constexpr Size round_up(Size n, Size to) noexcept { return (n + to - 1) / to * to; }

/// `count` uninitialised elements on a 64-byte boundary.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(Size count)
      : elements_(static_cast<T*>(::operator new (bytes(count), std::align_val_t{alignment}))),
        count_(count) {}

  T* get() const noexcept { return elements_.get(); }
  Size size() const noexcept { return count_; }

 private:
  static std::size_t bytes(Size count) {
    return static_cast<std::size_t>(checked_product(count, static_cast<Size>(sizeof(T))));
  }
  struct Free {
    void operator()(T* elements) const noexcept { ::operator delete (elements, std::align_val_t{alignment}); }
  };
  std::unique_ptr<T[], Free> elements_;
  Size count_ = 0;
};

}  // namespace rapt
