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
    if (repeats_elements(outputs[i]))
      refuse(outputs[i].name, "two of its indices name the same element, expected distinct elements");
    for (const Footprint& input : inputs) {
      if (overlap(outputs[i], input)) refuse(outputs[i].name, std::string("overlaps ") + input.name);
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (overlap(outputs[i], outputs[other]))
        refuse(outputs[i].name, std::string("overlaps ") + outputs[other].name);
    }
  }
}

}  // namespace rapt
