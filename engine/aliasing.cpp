// Memory sharing as a bounded linear equation in the index differences, searched from the largest stride
// down.
#include "aliasing.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace rapt {
namespace {

// x * stride with x in [low, high], stride positive.
struct Term {
  std::ptrdiff_t stride, low, high;
};

constexpr std::ptrdiff_t floor_div(std::ptrdiff_t a, std::ptrdiff_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Whether the terms can sum to a target.
class Equation {
 public:
  void add(std::ptrdiff_t stride, std::ptrdiff_t low, std::ptrdiff_t high) {
    if (stride == 0) return;
    if (stride < 0) return add(-stride, -high, -low);
    for (std::size_t i = 0; i < count_; ++i) {
      if (terms_[i].stride != stride) continue;
      terms_[i].low += low;
      terms_[i].high += high;
      return;
    }
    terms_[count_++] = {stride, low, high};
  }

  bool solvable(std::ptrdiff_t target) {
    std::sort(terms_.data(), terms_.data() + count_,
              [](const Term& a, const Term& b) { return a.stride > b.stride; });
    // What the terms from i on can reach.
    least_[count_] = most_[count_] = 0;
    for (std::size_t i = count_; i-- > 0;) {
      least_[i] = least_[i + 1] + terms_[i].stride * terms_[i].low;
      most_[i] = most_[i + 1] + terms_[i].stride * terms_[i].high;
    }
    steps_ = 0;
    return search(0, target);
  }

 private:
  static constexpr int most_steps = 100'000;

  bool search(std::size_t i, std::ptrdiff_t target) {
    if (target < least_[i] || target > most_[i]) return false;
    if (i == count_ || ++steps_ > most_steps) return true;
    const Term& term = terms_[i];
    const std::ptrdiff_t first = std::max(term.low, -floor_div(most_[i + 1] - target, term.stride));
    const std::ptrdiff_t last = std::min(term.high, floor_div(target - least_[i + 1], term.stride));
    for (std::ptrdiff_t x = first; x <= last; ++x) {
      if (search(i + 1, target - x * term.stride)) return true;
    }
    return false;
  }

  std::array<Term, 9> terms_{};
  std::array<std::ptrdiff_t, 10> least_{}, most_{};
  std::size_t count_ = 0;
  int steps_ = 0;
};

/// Whether each axis, from the last on, steps over all that the later ones reach: what arrays without gaps
/// and their slices do.
bool is_nested(const Footprint& view) {
  std::ptrdiff_t reach = view.element_size;
  for (std::size_t axis = view.rank; axis-- > 0;) {
    if (view.extents[axis] == 1) continue;
    const std::ptrdiff_t stride = std::abs(view.strides[axis]);
    if (stride < reach) return false;
    reach += (view.extents[axis] - 1) * stride;
  }
  return true;
}

}  // namespace

bool find_any_range(Footprint& view) {
  constexpr std::ptrdiff_t limit = std::numeric_limits<std::ptrdiff_t>::max() / 8;
  bool negative = false, empty = false, far = false;
  std::ptrdiff_t below = 0, above = 0;
  for (std::size_t axis = 0; axis < view.rank; ++axis) {
    const std::ptrdiff_t extent = view.extents[axis], stride = view.strides[axis];
    std::ptrdiff_t reach = 0;
    negative |= extent < 0;
    empty |= extent == 0;
    far |= __builtin_mul_overflow(std::max(extent, std::ptrdiff_t{1}) - 1, stride, &reach);
    far |= (extent > limit) | (stride < -limit) | (reach > limit) | (reach < -limit);
    reach = far ? 0 : reach;
    below += std::min(reach, std::ptrdiff_t{0});
    above += std::max(reach, std::ptrdiff_t{0});
  }
  above += view.element_size;
  if (negative || (!empty && (far || above - below > limit))) return false;
  const auto data = reinterpret_cast<std::intptr_t>(view.data);
  if (!empty) view.range = {data + below, data + above};
  return true;
}

bool same_elements(const Footprint& a, const Footprint& b) {
  if (a.data != b.data || a.rank != b.rank || a.extents != b.extents) return false;
  for (std::size_t axis = 0; axis < a.rank; ++axis)
    if (a.extents[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  return true;
}

bool repeats_elements(const Footprint& view) {
  if (is_empty(view) || is_nested(view)) return false;
  // Two indices differ first at some axis: there the difference is at least 1, before it 0, after it
  // anything.
  for (std::size_t axis = 0; axis < view.rank; ++axis) {
    const std::ptrdiff_t most = view.extents[axis] - 1;
    if (most == 0) continue;
    if (view.strides[axis] == 0) return true;
    Equation difference;
    difference.add(view.strides[axis], 1, most);
    for (std::size_t later = axis + 1; later < view.rank; ++later) {
      difference.add(view.strides[later], 1 - view.extents[later], view.extents[later] - 1);
    }
    difference.add(1, 1 - view.element_size, view.element_size - 1);
    if (difference.solvable(0)) return true;
  }
  return false;
}

bool share_a_byte(const Footprint& a, const Footprint& b) {
  Equation difference;  // (offset in a) - (offset in b) = b.data - a.data
  for (std::size_t axis = 0; axis < a.rank; ++axis) difference.add(a.strides[axis], 0, a.extents[axis] - 1);
  for (std::size_t axis = 0; axis < b.rank; ++axis) difference.add(b.strides[axis], 1 - b.extents[axis], 0);
  difference.add(1, 1 - b.element_size, a.element_size - 1);
  return difference.solvable(static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(b.data) -
                                                         reinterpret_cast<std::uintptr_t>(a.data)));
}

}  // namespace rapt
