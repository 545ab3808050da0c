// The one exception rapt throws of its own. Everything else is std::bad_alloc.
#pragma once

#include <rapt/export.hpp>

#include <stdexcept>

namespace rapt {

/// An argument that rapt refuses. what() names the argument, what it was and what was expected, with both
/// numbers where two disagree: "k: head_dim 63 does not match q: head_dim 64". Thrown before anything
/// is written, unless a function says otherwise.
class RAPT_API invalid_input : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

}  // namespace rapt
