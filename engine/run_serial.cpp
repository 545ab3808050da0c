// run.hpp without oneTBB (RAPT_TBB=OFF): everything runs on the calling thread. No bit of a result differs.
#include "run.hpp"

namespace rapt {

std::ptrdiff_t worker_slots(std::ptrdiff_t, double) noexcept { return 1; }

void detail::run_items(std::ptrdiff_t items, std::ptrdiff_t,
                       void (*body)(void*, std::ptrdiff_t, std::ptrdiff_t), void* self) {
  for (std::ptrdiff_t item = 0; item < items; ++item) body(self, 0, item);
}

}  // namespace rapt
