#include "arrays.hpp"

#include <algorithm>

namespace rapt::python {
namespace {

struct ElementName {
  Element element;
  int number;  // NumPy's type number
  const char* name;
};

constexpr ElementName element_names[]{
    {Element::boolean, py::detail::npy_api::NPY_BOOL_, "bool"},
    {Element::i32, py::detail::npy_api::NPY_INT_, "int32"},
    {Element::i64, py::detail::npy_api::NPY_LONG_, "int64"},
    {Element::i64, py::detail::npy_api::NPY_LONGLONG_, "int64"},
    {Element::f16, 23, "float16"},
    {Element::f32, py::detail::npy_api::NPY_FLOAT_, "float32"},
    {Element::f64, py::detail::npy_api::NPY_DOUBLE_, "float64"},
};

const char* name_of(Element element) {
  return std::find_if(std::begin(element_names), std::end(element_names),
                      [&](const ElementName& each) { return each.element == element; })
      ->name;
}

std::string accepted_names(Elements accepted) {
  std::string names, last;
  for (const ElementName& each : element_names) {
    if (!accepted.has(each.element) || each.name == last) continue;
    last = each.name;
    names += (names.empty() ? "" : " or ") + last;
  }
  return names;
}

bool is_masked_array(py::handle object) {
  return py::isinstance(object, py::module_::import("numpy.ma").attr("MaskedArray"));
}

py::detail::PyArray_Proxy* proxy(py::handle object) { return py::detail::array_proxy(object.ptr()); }

}  // namespace

Array::Array(const char* name, py::handle object, Elements accepted)
    : name_(name), object_(object), element_() {
  const auto& api = py::detail::npy_api::get();
  if (Py_TYPE(object.ptr()) != api.PyArray_Type_) {  // the plain type needs no closer look
    if (!api.PyArray_Check_(object.ptr())) {
      throw py::type_error(std::string(name) + ": " + Py_TYPE(object.ptr())->tp_name +
                           " where a numpy.ndarray of " + accepted_names(accepted) + " was expected");
    }
    if (is_masked_array(object)) {
      throw py::type_error(std::string(name) +
                           ": a masked array; give a plain array, and the mask as a mask argument");
    }
  }
  const auto* descriptor = py::detail::array_descriptor_proxy(proxy(object)->descr);
  for (const ElementName& each : element_names) {
    const bool native = descriptor->byteorder != '>';
    if (each.number != descriptor->type_num || !native) continue;
    if (!accepted.has(each.element)) break;
    element_ = each.element;
    return;
  }
  throw py::type_error(std::string(name) + ": dtype " +
                       py::str(object.attr("dtype").attr("str")).cast<std::string>() + " (" +
                       py::str(object.attr("dtype")).cast<std::string>() + ") is not supported, expected " +
                       accepted_names(accepted) + "; rapt does not cast");
}

std::ptrdiff_t Array::ndim() const noexcept { return proxy(object_)->nd; }
std::ptrdiff_t Array::extent(std::ptrdiff_t axis) const noexcept { return proxy(object_)->dimensions[axis]; }
const void* Array::data() const noexcept { return proxy(object_)->data; }

std::string Array::shape_text() const { return py::str(object_.attr("shape")).cast<std::string>(); }

bool Array::same_shape(const Array& other) const noexcept {
  return ndim() == other.ndim() && std::equal(proxy(object_)->dimensions, proxy(object_)->dimensions + ndim(),
                                              proxy(other.object_)->dimensions);
}

void Array::require_element_of(const Array& other) const {
  if (element_ == other.element_) return;
  throw py::type_error(std::string(name_) + ": dtype " + name_of(element_) + " does not match " +
                       other.name_ + ": dtype " + name_of(other.element_) + "; rapt does not cast");
}

void Array::require_writable() const {
  if ((proxy(object_)->flags & py::detail::npy_api::NPY_ARRAY_WRITEABLE_) != 0) return;
  throw invalid_input(std::string(name_) + ": the array is read-only");
}

void Array::axes_into(const char* axes, bool broadcast, int n, std::size_t size, std::ptrdiff_t* extents,
                      std::ptrdiff_t* strides) const {
  const std::ptrdiff_t missing = n - ndim();
  if (missing < 0 || (missing > 0 && !broadcast)) {
    throw invalid_input(std::string(name_) + ": shape " + shape_text() + " is " + std::to_string(ndim()) +
                        "-dimensional, expected " + std::to_string(n) + "D " + axes);
  }
  const auto itemsize = static_cast<std::ptrdiff_t>(size);
  bool aligned = reinterpret_cast<std::uintptr_t>(data()) % size == 0;
  for (std::ptrdiff_t axis = 0; axis < n; ++axis) {
    extents[axis] = axis < missing ? 1 : extent(axis - missing);
    // NumPy leaves the stride of an axis with one element or none open.
    const std::ptrdiff_t bytes = extents[axis] < 2 ? 0 : proxy(object_)->strides[axis - missing];
    strides[axis] = bytes / itemsize;
    aligned = aligned && bytes % itemsize == 0;
  }
  if (!aligned)
    throw invalid_input(std::string(name_) + ": its elements are not aligned to " + std::to_string(size) +
                        " bytes");
}

std::optional<Array> optional_array(const char* name, py::handle object, Elements accepted) {
  if (object.is_none()) return std::nullopt;
  return Array(name, object, accepted);
}

}  // namespace rapt::python
