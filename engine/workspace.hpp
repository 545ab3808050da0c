// Memory for kernels: aligned, uninitialised, sized with overflow checks, freed with its owner.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace rapt {

using Size = std::ptrdiff_t;

inline constexpr Size alignment = 64;  // a cache line, and the widest vector

/// a * b elements, about to be allocated. Throws std::bad_alloc when the product does not fit.
inline Size element_count(Size a, Size b) {
  Size product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw std::bad_alloc();
  return product;
}

/// n rounded up to a multiple of `to`, a power of two.
constexpr Size round_up(Size n, Size to) noexcept { return (n + to - 1) & -to; }

/// `count` uninitialised elements on a 64-byte boundary.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(Size count) : count_(count) {
    if (count > 0)
      elements_.reset(
          static_cast<T*>(::operator new (bytes(count), std::align_val_t{std::size_t{alignment}})));
  }

  T* get() const noexcept { return elements_.get(); }
  Size size() const noexcept { return count_; }

 private:
  static std::size_t bytes(Size count) {
    return static_cast<std::size_t>(element_count(count, static_cast<Size>(sizeof(T))));
  }
  struct Free {
    void operator()(T* elements) const noexcept {
      ::operator delete (elements, std::align_val_t{std::size_t{alignment}});
    }
  };
  std::unique_ptr<T[], Free> elements_;
  Size count_ = 0;
};

/// Carves one block of memory into named arrays. The same code counts the bytes (of no memory, or too little:
/// what does not fit is null) and hands the arrays out, so that a size is written in one place.
class Carver {
 public:
  Carver() = default;
  Carver(std::byte* memory, Size bytes) noexcept : memory_(memory), bytes_(bytes) {}

  template <class T>
  T* take(Size count) {
    const Size bytes = element_count(count, static_cast<Size>(sizeof(T))), first = used_;
    if (__builtin_add_overflow(used_, round_up(bytes, alignment), &used_)) throw std::bad_alloc();
    return used_ <= bytes_ ? reinterpret_cast<T*>(memory_ + first) : nullptr;
  }
  Size used() const noexcept { return used_; }
  bool fits() const noexcept { return used_ <= bytes_; }

 private:
  std::byte* memory_ = nullptr;
  Size bytes_ = 0, used_ = 0;
};

}  // namespace rapt
