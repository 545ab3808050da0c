#include "scalars.hpp"

namespace rapt::python {
namespace {

py::type_error type_error(const char* name, py::handle object, const char* expected) {
  return py::type_error(std::string(name) + ": " + Py_TYPE(object.ptr())->tp_name + " where " + expected +
                        " was expected");
}

// Its digits, but not hundreds; above some thousands Python itself refuses to write them.
std::string shown(py::handle number) {
  constexpr std::size_t most = 40;
  try {
    const auto text = py::str(number).cast<std::string>();
    return text.size() <= most ? text : text.substr(0, most) + "...";
  } catch (const py::error_already_set&) {
    return std::string("this ") + Py_TYPE(number.ptr())->tp_name;
  }
}

// What convert makes of the object; beyond: how a message about a number that is too large goes on.
template <class Convert>
auto number_of(const char* name, py::handle object, const char* expected, const char* beyond,
               Convert&& convert) {
  const auto number = convert(object.ptr());
  if (PyErr_Occurred() == nullptr) return number;
  const py::error_already_set error;
  if (error.matches(PyExc_TypeError)) throw type_error(name, object, expected);
  if (error.matches(PyExc_OverflowError))
    throw invalid_input(std::string(name) + ": " + shown(object) + beyond);
  throw error;
}

}  // namespace

std::ptrdiff_t integer_of(const char* name, py::handle object) {
  return number_of(name, object, "an int", " does not fit in 64 bits",
                   [](PyObject* number) { return PyNumber_AsSsize_t(number, PyExc_OverflowError); });
}

std::uint64_t unsigned_of(const char* name, py::handle object) {
  return number_of(name, object, "an int", ", expected 0 to 2**64 - 1",
                   [](PyObject* number) -> std::uint64_t {
                     const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(number));
                     return index ? PyLong_AsUnsignedLongLong(index.ptr()) : 0;
                   });
}

double real_of(const char* name, py::handle object) {
  return number_of(name, object, "a number", " does not fit in double precision", &PyFloat_AsDouble);
}

std::optional<std::ptrdiff_t> optional_integer(const char* name, py::handle object) {
  if (object.is_none()) return std::nullopt;
  return integer_of(name, object);
}

std::optional<double> optional_real(const char* name, py::handle object) {
  if (object.is_none()) return std::nullopt;
  return real_of(name, object);
}

bool flag_of(const char* name, py::handle object) {
  py::detail::make_caster<bool> flag;
  if (!flag.load(object, true)) throw type_error(name, object, "a bool");
  return static_cast<bool>(flag);
}

std::optional<bool> if_bool(py::handle object) {
  py::detail::make_caster<bool> flag;
  if (!flag.load(object, false)) return std::nullopt;
  return static_cast<bool>(flag);
}

std::string bytes_of(const char* name, py::handle text) {
  if (py::isinstance<py::bytes>(text)) return text.cast<std::string>();
  if (!py::isinstance<py::str>(text)) throw type_error(name, text, "str or bytes");
  try {
    return text.attr("encode")("utf-8", "surrogateescape").cast<std::string>();
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_UnicodeEncodeError)) throw;
    throw invalid_input(std::string(name) + ": a lone surrogate that stands for no byte, expected UTF-8");
  }
}

bool is_word(const char* name, py::handle object, const char* word) {
  if (!py::isinstance<py::str>(object)) throw type_error(name, object, "a str");
  return PyUnicode_CompareWithASCIIString(object.ptr(), word) == 0;
}

}  // namespace rapt::python
