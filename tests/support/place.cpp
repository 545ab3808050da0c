// Guard pages and the strides of each layout.
#include "support/place.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <numeric>
#include <utility>

namespace rapt::test {

std::size_t GuardedPages::page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

GuardedPages::GuardedPages(std::size_t bytes) {
  const std::size_t page = page_size();
  size_ = (bytes + page - 1) / page * page;
  void* const mapped = mmap(nullptr, size_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(mapped) + page;
  if (size_ != 0 && mprotect(begin_, size_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
}

GuardedPages::GuardedPages(GuardedPages&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)) {}

GuardedPages::~GuardedPages() {
  if (begin_ != nullptr) munmap(begin_ - page_size(), size_ + 2 * page_size());
}

void GuardedPages::forbid(void* begin, std::size_t bytes) {
  const std::uintptr_t page = page_size(),
                       first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
  if (first < last && mprotect(reinterpret_cast<void*>(first), last - first, PROT_NONE) != 0)
    throw std::bad_alloc();
}

template <int N>
Placement<N> place(const std::array<std::ptrdiff_t, N>& extents, Layout layout, std::size_t element_size,
                   const std::array<bool, N>& constant_along) {
  // Axes from the one whose elements are nearest to each other.
  std::array<std::size_t, N> order{};
  for (std::size_t axis = 0; axis < N; ++axis) order[axis] = layout == Layout::columns ? axis : N - 1 - axis;
  if (layout == Layout::permuted && N >= 3) std::swap(order[std::size_t{N} - 2], order[std::size_t{N} - 3]);

  Placement<N> placement;
  std::ptrdiff_t step = layout == Layout::gapped ? 2 : 1;
  for (const std::size_t axis : order) {
    placement.strides[axis] = constant_along[axis] ? 0 : step;
    if (constant_along[axis]) continue;
    step *= layout == Layout::gapped ? extents[axis] + 3 : extents[axis];
    if (layout == Layout::paged && axis == N - 1) {
      const auto page = static_cast<std::ptrdiff_t>(GuardedPages::page_size() / element_size);
      step = (step + page - 1) / page * page;
    }
  }
  if (std::count(extents.begin(), extents.end(), 0) != 0) return placement;

  std::ptrdiff_t reach = 0;
  for (std::size_t axis = 0; axis < N; ++axis) reach += (extents[axis] - 1) * placement.strides[axis];
  placement.size = layout == Layout::paged ? step : reach + 1;
  if (layout == Layout::reversed) {
    placement.origin = reach;
    for (std::ptrdiff_t& stride : placement.strides) stride = -stride;
  }
  return placement;
}

template Placement<1> place<1>(const std::array<std::ptrdiff_t, 1>&, Layout, std::size_t,
                               const std::array<bool, 1>&);
template Placement<2> place<2>(const std::array<std::ptrdiff_t, 2>&, Layout, std::size_t,
                               const std::array<bool, 2>&);
template Placement<3> place<3>(const std::array<std::ptrdiff_t, 3>&, Layout, std::size_t,
                               const std::array<bool, 3>&);
template Placement<4> place<4>(const std::array<std::ptrdiff_t, 4>&, Layout, std::size_t,
                               const std::array<bool, 4>&);

}  // namespace rapt::test
