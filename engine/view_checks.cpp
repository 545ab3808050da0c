#include "view_checks.hpp"

#include <rapt/error.hpp>

#include <cstdint>

namespace rapt {

void refuse(const std::string& argument, const std::string& why) {
  throw invalid_input(argument + ": " + why);
}

void refuse_address(Footprint view) {
  if (find_range(view)) refuse(view.name, "its data is null, expected elements");
  for (std::size_t axis = 0; axis < view.rank; ++axis) {
    if (view.extents[axis] < 0) refuse(view.name, named(view, axis) + ", expected at least 0");
  }
  refuse(view.name, "its extents and strides reach beyond the address space");
}

std::string named(const Footprint& view, std::size_t axis) {
  return std::string(view.axes[axis]) + " " + number_text(view.extents[axis]);
}

void require_positive(const Footprint& view, std::size_t axis) {
  if (view.extents[axis] < 1) refuse(view.name, named(view, axis) + ", expected at least 1");
}

void refuse_repeats(const Footprint& output) {
  refuse(output.name, "two of its indices name the same element, expected distinct elements");
}

void refuse_overlap(const Footprint& output, const Footprint& other) {
  refuse(output.name, std::string("overlaps ") + other.name);
}

void refuse_different(const Footprint& view, std::size_t axis, const Footprint& other,
                      std::size_t other_axis) {
  refuse(view.name, named(view, axis) + " does not match " + other.name + ": " + named(other, other_axis));
}

void require_arithmetic(Arithmetic arithmetic) {
  if (arithmetic != Arithmetic::textbook && arithmetic != Arithmetic::fused)
    refuse("arithmetic", number_text(static_cast<int>(arithmetic)) + ", expected textbook or fused");
}

void require_apart(std::span<const Footprint> inputs, std::span<const Footprint> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    require_distinct(outputs[i]);
    for (const Footprint& input : inputs) require_apart(outputs[i], input);
    for (std::size_t other = 0; other < i; ++other) require_apart(outputs[i], outputs[other]);
  }
}

}  // namespace rapt
