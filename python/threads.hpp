// Where a call computes: outside the GIL, in the arena of the calling Python thread's innermost threads(n).
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <type_traits>

namespace rapt::python {

/// threads(n): while it is entered, calls of the Python thread that entered it run on n threads.
class Threads {
 public:
  /// ValueError when n is not 1 to 1024.
  explicit Threads(std::ptrdiff_t n);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void enter();
  void exit();

 private:
  int n_;
};

/// Gives the GIL to other Python threads for its life. A daemon thread that comes back when the interpreter
/// is on its way out stays here: taking the GIL would end the thread by an exception that no destructor may
/// let pass.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
#if PY_VERSION_HEX >= 0x030D0000
    while (Py_IsFinalizing()) pause();
#else
    while (_Py_IsFinalizing()) pause();
#endif
    PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

namespace detail {
void run_in_arena(void (*body)(void*), void* self);
}

/// Calls body without the GIL, in that arena. body touches no Python object; what it throws is thrown on.
template <class Body>
void compute(Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  const WithoutGil released;
  detail::run_in_arena([](void* self) { (*static_cast<Plain*>(self))(); },
                       const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace rapt::python
