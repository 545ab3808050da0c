// Runs independent items, on several threads where that pays. oneTBB lives in run.cpp and nowhere else.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>

namespace rapt {

/// How many items may be in work at the same time: the concurrency of the caller's arena, at most `items`,
/// and 1 where the whole work is too small to wake a worker for. `flop` is an estimate from sizes only.
/// Scratch is allocated for each slot.
std::ptrdiff_t worker_slots(std::ptrdiff_t items, double flop) noexcept;

/// Packing or copying an element takes the time of so many flop: what worker_slots() is told of work that
/// only moves.
inline constexpr double moved_element_flop = 8;

namespace detail {
void run_items(std::ptrdiff_t items, std::ptrdiff_t slots,
               void (*body)(void*, std::ptrdiff_t, std::ptrdiff_t), void* self);
}

/// Calls body(slot, item) once for each item in [0, items), in the caller's arena. Items start in ascending
/// order, so the heavy ones go first; a slot in [0, slots) is never in use twice at a time. body must not
/// throw. Work that a caller of rapt has queued in the same arena never runs inside (isolated), no item is
/// left out where the caller's tasks are cancelled, and nothing of an answer may depend on slot.
template <class Body>
void run_items(std::ptrdiff_t items, std::ptrdiff_t slots, Body&& body) {
  if (slots < 2) {
    for (std::ptrdiff_t item = 0; item < items; ++item) body(std::ptrdiff_t{0}, item);
    return;
  }
  using Plain = std::remove_reference_t<Body>;
  detail::run_items(
      items, slots,
      [](void* self, std::ptrdiff_t slot, std::ptrdiff_t item) { (*static_cast<Plain*>(self))(slot, item); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// Items that are parts of wholes: calls part(slot, whole, p) for p in [0, parts), of the first whole first,
/// and finish(slot, whole) when all parts of a whole are done, on the thread that ended the last: its results
/// are still near, and other threads go on with parts. parts is at least 1. left: [wholes], to count in.
template <class Part, class Finish>
void run_parts(std::ptrdiff_t wholes, std::ptrdiff_t parts, std::ptrdiff_t slots, std::ptrdiff_t* left,
               Part&& part, Finish&& finish) {
  std::fill_n(left, wholes, parts);
  run_items(wholes * parts, slots, [&](std::ptrdiff_t slot, std::ptrdiff_t item) {
    const std::ptrdiff_t whole = item / parts;
    part(slot, whole, item % parts);
    if (std::atomic_ref(left[whole]).fetch_sub(1, std::memory_order_acq_rel) == 1) finish(slot, whole);
  });
}

}  // namespace rapt
