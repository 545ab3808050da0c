// From NumPy arrays to views and back. The only place that decides what a Python argument may be: arrays of
// the accepted element types, seen through their strides, never copied and never cast.
#pragma once

#include <pybind11/numpy.h>
#include <rapt/dtype.hpp>
#include <rapt/error.hpp>
#include <rapt/view.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace rapt::python {

namespace py = pybind11;

enum class Element { boolean, i32, i64, f16, f32, f64 };

template <class T>
constexpr Element element_of = [] {
  if constexpr (std::is_same_v<T, bool>) return Element::boolean;
  if constexpr (std::is_same_v<T, std::int32_t>) return Element::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Element::i64;
  if constexpr (std::is_same_v<T, f16>) return Element::f16;
  if constexpr (std::is_same_v<T, float>) return Element::f32;
  if constexpr (std::is_same_v<T, double>) return Element::f64;
}();

/// A set of element types.
class Elements {
 public:
  constexpr Elements(std::initializer_list<Element> elements) noexcept {
    for (const Element element : elements) bits_ |= bit(element);
  }
  constexpr bool has(Element element) const noexcept { return (bits_ & bit(element)) != 0; }

 private:
  static constexpr unsigned bit(Element element) noexcept { return 1U << static_cast<unsigned>(element); }
  unsigned bits_ = 0;
};
inline constexpr Elements real_elements{Element::f32, Element::f64};

/// An argument that is an array of an accepted element type; its shape is not checked yet. Borrows the
/// object.
class Array {
 public:
  /// TypeError, naming the argument, for anything but a numpy.ndarray (masked arrays too) of an accepted
  /// native dtype.
  Array(const char* name, py::handle object, Elements accepted = real_elements);

  const char* name() const noexcept { return name_; }
  Element element() const noexcept { return element_; }
  std::ptrdiff_t ndim() const noexcept;
  std::ptrdiff_t extent(std::ptrdiff_t axis) const noexcept;
  std::string shape_text() const;
  bool same_shape(const Array& other) const noexcept;

  /// TypeError when the element types differ.
  void require_element_of(const Array& other) const;

  /// A view with N axes; missing leading ones have extent 1 when `broadcast`. ValueError, with "ND" in it,
  /// for another number of axes and for memory that is not aligned to elements. axes: "[batch, n_heads,
  /// q_len, head_dim]".
  template <class T, int N>
  View<const T, N> view(const char* axes, bool broadcast = false) const {
    View<const T, N> result{.data = static_cast<const T*>(data())};
    axes_into(axes, broadcast, N, sizeof(T), result.extents.data(), result.strides.data());
    return result;
  }

  /// The address of element [0, ...] of an array that will be written. ValueError when it is read-only.
  template <class T>
  T* writable_data() const {
    require_writable();
    return static_cast<T*>(const_cast<void*>(data()));
  }

  /// The same view for an array that will be written; ValueError when it is read-only.
  template <class T, int N>
  View<T, N> writable_view(const char* axes) const {
    require_writable();
    const View<const T, N> seen = view<T, N>(axes);
    return {const_cast<T*>(seen.data), seen.extents, seen.strides};
  }

 private:
  const void* data() const noexcept;
  void require_writable() const;
  void axes_into(const char* axes, bool broadcast, int n, std::size_t size, std::ptrdiff_t* extents,
                 std::ptrdiff_t* strides) const;

  const char* name_;
  py::handle object_;
  Element element_;
};

/// The argument, or nothing when it is None.
std::optional<Array> optional_array(const char* name, py::handle object, Elements accepted);

/// A new array that owns its memory, C order, and the view of it.
template <class T, int N>
struct NewArray {
  py::array array;
  View<T, N> view;
};

template <class T, int N>
NewArray<T, N> new_array(const std::array<std::ptrdiff_t, N>& extents) {
  using Stored = std::conditional_t<std::is_same_v<T, f16>, std::uint16_t, T>;
  NewArray<T, N> made{
      py::array(py::dtype::of<Stored>(), std::vector<std::ptrdiff_t>(extents.begin(), extents.end())), {}};
  made.view.data = static_cast<T*>(made.array.mutable_data());
  made.view.extents = extents;
  std::ptrdiff_t stride = 1;
  for (std::size_t axis = N; axis-- > 0; stride *= extents[axis]) made.view.strides[axis] = stride;
  return made;
}

/// The array given as out=, or a new one. The shape of a given one is checked here: ValueError naming both.
template <class T, int N>
NewArray<T, N> given_or_new(const std::optional<Array>& out, py::handle object, const char* axes,
                            const std::array<std::ptrdiff_t, N>& extents) {
  if (!out) return new_array<T, N>(extents);
  const View<T, N> view = out->writable_view<T, N>(axes);
  if (view.extents != extents) {
    std::string expected;
    for (const std::ptrdiff_t extent : extents)
      expected += (expected.empty() ? "(" : ", ") + std::to_string(extent);
    throw invalid_input(std::string(out->name()) + ": shape " + out->shape_text() +
                        " does not match the expected " + expected + ")");
  }
  return {py::reinterpret_borrow<py::array>(object), view};
}

/// Calls body with the C++ type of a real element: body.template operator()<T>().
template <class Body>
decltype(auto) with_real(Element element, Body&& body) {
  return element == Element::f32 ? body.template operator()<float>() : body.template operator()<double>();
}

}  // namespace rapt::python
