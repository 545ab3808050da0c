// Where a call computes: outside the GIL, in the arena of the calling Python thread's innermost threads(n).
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <type_traits>

namespace rapt::python {

/// threads(n): while it is entered, calls of the Python thread that entered it run on n threads.
class Threads {
 public:
  /// ValueError when n is below 1.
  explicit Threads(int n);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void enter();
  void exit();

 private:
  int n_;
};

namespace detail {
void run_in_arena(void (*body)(void*), void* self);
}

/// Calls body without the GIL, in that arena. body touches no Python object; what it throws is thrown on.
template <class Body>
void compute(Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  const pybind11::gil_scoped_release release;
  detail::run_in_arena([](void* self) { (*static_cast<Plain*>(self))(); },
                       const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace rapt::python
