// Runs independent items, on several threads where that pays. oneTBB lives in run.cpp and nowhere else.
#pragma once

#include <cstddef>
#include <type_traits>

namespace rapt {

/// How many items may be in work at the same time: the concurrency of the caller's arena, at most `items`,
/// and 1 where the whole work is too small to wake a worker for. `flop` is an estimate from sizes only.
/// Scratch is allocated for each slot.
std::ptrdiff_t worker_slots(std::ptrdiff_t items, double flop) noexcept;

namespace detail {
void run_items(std::ptrdiff_t items, std::ptrdiff_t slots,
               void (*body)(void*, std::ptrdiff_t, std::ptrdiff_t), void* self);
}

/// Calls body(slot, item) once for each item in [0, items), in the caller's arena. Items start in ascending
/// order, so the heavy ones go first; a slot in [0, slots) is never in use twice at a time. body must not
/// throw. Work that a caller of rapt has queued in the same arena never runs inside (isolated), and nothing
/// of an answer may depend on slot.
template <class Body>
void run_items(std::ptrdiff_t items, std::ptrdiff_t slots, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  detail::run_items(
      items, slots,
      [](void* self, std::ptrdiff_t slot, std::ptrdiff_t item) { (*static_cast<Plain*>(self))(slot, item); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace rapt
