// From Python numbers, texts and flags to those of C++. pybind11's own conversions refuse a call without
// naming the argument, and one that is out of range as if its type were wrong.
#pragma once

#include <pybind11/pybind11.h>
#include <rapt/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rapt::python {

namespace py = pybind11;

// Each throws TypeError, naming the argument, for an object of another type, and ValueError for a number that
// does not fit.

/// An int, or what has __index__, of 64 bits.
std::ptrdiff_t integer_of(const char* name, py::handle object);

/// The same from 0 to 2**64 - 1.
std::uint64_t unsigned_of(const char* name, py::handle object);

/// A float, or what has __float__ or __index__.
double real_of(const char* name, py::handle object);

/// The argument, or nothing when it is None.
std::optional<std::ptrdiff_t> optional_integer(const char* name, py::handle object);
std::optional<double> optional_real(const char* name, py::handle object);

/// A bool, or what has __bool__.
bool flag_of(const char* name, py::handle object);

/// A bool or a numpy.bool_, and nothing else that has __bool__.
std::optional<bool> if_bool(py::handle object);

/// str as UTF-8, bytes as they are. Bytes that are not UTF-8 pass through str as lone surrogates, so that no
/// text loses any (as file names do in Python).
std::string bytes_of(const char* name, py::handle text);

template <class Value>
struct Choice {
  const char* word;
  Value value;
};

/// Whether the argument is that str; TypeError when it is none at all.
bool is_word(const char* name, py::handle object, const char* word);

/// The value of the word that the argument is. ValueError, with all of them, for another one.
template <class Value, std::size_t n>
Value choice_of(const char* name, py::handle object, const Choice<Value> (&choices)[n]) {
  std::string expected;
  for (std::size_t i = 0; i < n; ++i) {
    if (is_word(name, object, choices[i].word)) return choices[i].value;
    expected += std::string(i == 0 ? " \"" : i + 1 < n ? ", \"" : " or \"") + choices[i].word + '"';
  }
  throw invalid_input(std::string(name) + ": " + py::repr(object).cast<std::string>() + ", expected" +
                      expected);
}

}  // namespace rapt::python
