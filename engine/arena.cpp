#include "arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace rapt {
namespace {

// Reading from DRAM through 4 KiB pages loses a fifth of the bandwidth.
constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;
// Below this it is quicker to zero bytes of the heap than to have pages mapped, faulted in and unmapped.
constexpr std::ptrdiff_t heap_bytes = 512 << 10;

}  // namespace

Arena::Arena(std::ptrdiff_t bytes) : size_(bytes) {
  if (bytes <= heap_bytes) {
    heap_ = AlignedArray<std::byte>(bytes);
    begin_ = heap_.get();
    std::fill_n(begin_, bytes, std::byte{0});
    return;
  }
  const bool huge = static_cast<std::uintptr_t>(bytes) >= huge_page;
  mapped_ = static_cast<std::size_t>(bytes) + (huge ? huge_page : 0);
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw std::bad_alloc();
  }
  std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(mapping_);
  if (huge) begin = (begin + huge_page - 1) / huge_page * huge_page;
  begin_ = reinterpret_cast<std::byte*>(begin);
#ifdef MADV_HUGEPAGE
  // Advice: where the system refuses it, everything works on small pages.
  if (huge) static_cast<void>(madvise(begin_, static_cast<std::size_t>(bytes), MADV_HUGEPAGE));
#endif
}

Arena::~Arena() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

}  // namespace rapt
