// The parts of the module rapt._rapt; module.cpp puts them together.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "arrays.hpp"
#include "scalars.hpp"

namespace rapt::python {

void bind_attention(py::module_& module);
void bind_projection(py::module_& module);
void bind_multi_head(py::module_& module);
void bind_single_head(py::module_& module);
void bind_cache(py::module_& module);
void bind_embedding(py::module_& module);
void bind_text(py::module_& module);
void bind_stages(py::module_& module);

/// "num_heads 3", for messages.
inline std::string quoted(const std::string& name, std::ptrdiff_t value) {
  return name + " " + std::to_string(value);
}

}  // namespace rapt::python
