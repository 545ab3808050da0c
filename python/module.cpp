// The extension module rapt._rapt. Python code of the package re-exports it; see rapt/__init__.py.
#include <rapt/info.hpp>

#include <exception>
#include <new>

#include "bindings.hpp"
#include "threads.hpp"

namespace rapt::python {
namespace {

constexpr const char* info_doc = R"(info()
--

dict of version, contract_version (results change bits only when it changes) and isa (the kernels that run here).)";

constexpr const char* threads_doc =
    R"(threads(n): a context manager; calls of this Python thread inside it run on n threads.

    with rapt.threads(1):
        out = rapt.attention(q, k, v)

It changes no bit of a result and no other Python thread. Scopes nest. ValueError when n is not 1 to 1024.)";

py::dict info() {
  py::dict dict;
  dict["version"] = version();
  dict["contract_version"] = contract_version();
  dict["isa"] = isa();
  return dict;
}

void bind_info(py::module_& module) {
  module.attr("__version__") = version();
  module.attr("contract_version") = contract_version();
  module.def("info", &info, info_doc);
  py::class_<Threads>(module, "threads", threads_doc)
      .def(py::init([](const py::object& n) { return std::make_unique<Threads>(integer_of("n", n)); }),
           "__init__(self, n)\n--\n\nn is at least 1.", py::arg("n"))
      .def("__enter__",
           [](const py::object& self) {
             self.cast<Threads&>().enter();
             return self;
           })
      .def("__exit__", [](Threads& self, const py::args&) { self.exit(); });
}

// pybind11 itself says "std::bad_alloc".
void say_memory(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "rapt cannot allocate the memory that this call needs");
  }
}

}  // namespace
}  // namespace rapt::python

PYBIND11_MODULE(_rapt, module) {
  using namespace rapt::python;
  py::options options;
  options
      .disable_function_signatures();  // the docstrings begin with their own, which inspect.signature() reads
  py::register_local_exception_translator(say_memory);
  bind_info(module);
  bind_attention(module);
  bind_projection(module);
  bind_multi_head(module);
  bind_single_head(module);
  bind_cache(module);
  bind_embedding(module);
  bind_text(module);
  bind_stages(module);
}
