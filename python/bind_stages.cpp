// run_stages(): the staged program with every stage as an array and the printed text.
#include <rapt/pipeline.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "threads.hpp"

namespace rapt::python {
namespace {

/// What run_stages() returns: Python objects, made once.
struct Stages {
  py::object words, mask, q, k, v, scores, weights, output, generated, dot_products, text;
};

// str as UTF-8, bytes as they are, a path as the bytes of its file (OSError when it cannot be read).
std::string text_of(const py::object& source) {
  if (py::isinstance<py::bytes>(source) || py::isinstance<py::str>(source)) return bytes_of("source", source);
  if (py::hasattr(source, "__fspath__")) {
    return py::module_::import("pathlib").attr("Path")(source).attr("read_bytes")().cast<std::string>();
  }
  throw py::type_error(std::string("source: ") + Py_TYPE(source.ptr())->tp_name +
                       " where str or bytes (the text) or a path (os.PathLike) was expected");
}

py::object text_object(const std::string& bytes) {
  return py::bytes(bytes).attr("decode")("utf-8", "surrogateescape");
}

py::array matrix(const std::vector<double>& values, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  const auto made = new_array<double, 2>({rows, columns});
  std::copy(values.begin(), values.end(), made.view.data);
  return made.array;
}

Arithmetic arithmetic_named(const py::object& arithmetic) {
  return choice_of<Arithmetic>("arithmetic", arithmetic,
                               {{"textbook", Arithmetic::textbook}, {"fused", Arithmetic::fused}});
}

Stages stages_of(const pipeline::Input& input, const pipeline::Result& result, const std::string& printed) {
  py::list words;
  for (const std::string& word : result.vocabulary) words.append(text_object(word));
  const auto mask = new_array<bool, 1>({input.n});
  std::transform(input.mask.begin(), input.mask.end(), mask.view.data,
                 [](unsigned char real) { return real != 0; });
  const auto counts = new_array<std::int64_t, 1>({input.g});
  std::copy(result.dot_products.begin(), result.dot_products.end(), counts.view.data);
  return {.words = words,
          .mask = mask.array,
          .q = matrix(result.q, input.n, input.d),
          .k = matrix(result.k, input.n, input.d),
          .v = matrix(result.v, input.n, input.d),
          .scores = matrix(result.scores, input.n, input.n),
          .weights = matrix(result.weights, input.n, input.n),
          .output = matrix(result.output, input.n, input.d),
          .generated = matrix(result.generated, input.g, input.d),
          .dot_products = counts.array,
          .text = text_object(printed)};
}

Stages run_stages(const py::object& source, const py::object& arithmetic, const py::object& unbounded) {
  const std::string text = text_of(source);
  const Arithmetic chosen = arithmetic_named(arithmetic);
  const auto limits =
      flag_of("unbounded", unbounded) ? pipeline::Limits::unbounded : pipeline::Limits::assignment;
  pipeline::Input input;
  pipeline::Result result;
  std::string printed;
  compute([&] {
    input = pipeline::parse(text, limits);
    result = pipeline::run(input, chosen);
    static_cast<void>(pipeline::print(input, result, [&](std::string_view chunk) {
      printed.append(chunk);
      return true;
    }));
  });
  return stages_of(input, result, printed);
}

constexpr const char* run_stages_doc = R"(run_stages(source, *, arithmetic="textbook", unbounded=False)
--

Runs the staged program; returns a rapt.Stages with every stage as an array and the printed text.

source is the text (str or bytes) or a path (os.PathLike, such as pathlib.Path). arithmetic: "textbook" (the bits of
the plain loops) or "fused". unbounded lifts the size limits. ValueError, with the field, line and column, for bad input.)";

constexpr const char* stages_doc =
    R"(The stages of one run: words (sorted, each once), mask [n] (True is real), q, k, v [n, d], scores and weights [n, n],
output [n, d], generated [g, d], dot_products [g], and text, what the program prints.)";

}  // namespace

void bind_stages(py::module_& module) {
  py::class_<Stages>(module, "Stages", stages_doc)
      .def_readonly("words", &Stages::words, "stage 1: list of str, sorted by bytes; word i is one-hot row i")
      .def_readonly("mask", &Stages::mask, "bool [n], True for a real row")
      .def_readonly("q", &Stages::q, "stage 2: [n, d]")
      .def_readonly("k", &Stages::k, "stage 2: [n, d]")
      .def_readonly("v", &Stages::v, "stage 2: [n, d]")
      .def_readonly("scores", &Stages::scores, "stage 3: [n, n], -inf where masked")
      .def_readonly("weights", &Stages::weights, "stage 4: [n, n], 0 where masked")
      .def_readonly("output", &Stages::output, "stage 5: [n, d]")
      .def_readonly("generated", &Stages::generated, "stage 6: [g, d]")
      .def_readonly("dot_products", &Stages::dot_products, "stage 6: int64 [g]")
      .def_readonly("text", &Stages::text, "str, what the program prints");
  module.def("run_stages", &run_stages, run_stages_doc, py::arg("source"), py::kw_only(),
             py::arg("arithmetic") = "textbook", py::arg("unbounded") = false);
}

}  // namespace rapt::python
