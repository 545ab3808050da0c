// What a KvCache holds: lengths, positions, copies of keys and values, and forgetting.
#include <pybind11/stl.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "cache.hpp"
#include "scalars.hpp"

namespace rapt::python {
namespace {

py::array length(const Cache& cache) {
  const std::ptrdiff_t batch = cache.options().batch;
  const auto result = new_array<std::int64_t, 1>({batch});
  cache.read([&](const KvCache& own) {
    for (std::ptrdiff_t b = 0; b < batch; ++b) result.view(b) = own.length(b);
  });
  return result.array;
}

py::array positions(const Cache& cache, const py::object& b_object) {
  const std::ptrdiff_t b = integer_of("b", b_object);
  KvPositions held;
  cache.read([&](const KvCache& own) { held = own.positions(b); });
  const auto result = new_array<std::int64_t, 1>({held.end - held.begin});
  std::iota(result.view.data, result.view.data + result.view.extents[0], held.begin);
  return result.array;
}

// Keys or values as they are stored. What is held is asked for under the same lock as the copy is made.
template <class Copy>
py::array stored_rows(const Cache& cache, std::ptrdiff_t b, std::ptrdiff_t dim, Copy&& copy) {
  return with_real(cache.element(), [&]<class T>() -> py::array {
    std::vector<T> rows;
    std::array<std::ptrdiff_t, 3> extents{};
    cache.read([&](const KvCache& own) {
      const KvPositions held = own.positions(b);
      extents = {own.options().n_kv_heads, held.end - held.begin, dim};
      rows.resize(static_cast<std::size_t>(extents[0] * extents[1] * extents[2]));
      copy(own, contiguous(rows.data(), {extents[0], extents[1], extents[2]}));
    });
    const auto result = new_array<T, 3>(extents);
    std::copy(rows.begin(), rows.end(), result.view.data);
    return result.array;
  });
}

void rollback(Cache& cache, const py::object& length) {
  if (PyIndex_Check(length.ptr()) != 0 && !py::isinstance<py::array>(length)) {
    const std::ptrdiff_t tokens = integer_of("length", length);
    cache.write([&](KvCache& own) { own.rollback(tokens); });
    return;
  }
  const auto view = Array("length", length, {Element::i64}).view<std::ptrdiff_t, 1>("[batch]");
  std::vector<std::ptrdiff_t> lengths;
  for (std::ptrdiff_t b = 0; b < view.extents[0]; ++b) lengths.push_back(view(b));
  cache.write([&](KvCache& own) { own.rollback(lengths); });
}

constexpr const char* rollback_doc = R"(rollback(self, length)
--

Forgets the tokens from `length` on: an int for every sequence, or int64 [B]. ValueError, with the shortest possible
length, when the window of the next token is no longer held; nothing is then changed.)";

}  // namespace

void bind_cache_storage(py::class_<Cache>& type) {
  type.def_property_readonly("length", &length, "int64 [B]: tokens appended so far")
      .def("positions", &positions,
           "positions(self, b)\n--\n\nint64: the positions held of sequence b, ascending.", py::arg("b"))
      .def("rollback", &rollback, rollback_doc, py::arg("length"))
      .def(
          "clear", [](Cache& cache) { cache.write([](KvCache& own) { own.clear(); }); },
          "clear(self)\n--\n\nForgets every token.")
      .def(
          "copy_sequence",
          [](Cache& cache, const py::object& source, const py::object& target) {
            const std::ptrdiff_t from = integer_of("source", source), to = integer_of("target", target);
            cache.write([&](KvCache& own) { own.copy_sequence(from, to); });
          },
          "copy_sequence(self, source, target)\n--\n\nMakes sequence target hold what sequence source holds.",
          py::arg("source"), py::arg("target"))
      .def(
          "keys",
          [](const Cache& cache, const py::object& b_object) {
            const std::ptrdiff_t b = integer_of("b", b_object);
            return stored_rows(cache, b, cache.options().head_dim,
                               [&](const KvCache& own, const auto& rows) { own.keys(b, rows); });
          },
          "keys(self, b)\n--\n\nA copy of the keys held of sequence b, as stored (rotated, rounded): [Hkv, "
          "held, D].",
          py::arg("b"))
      .def(
          "values",
          [](const Cache& cache, const py::object& b_object) {
            const std::ptrdiff_t b = integer_of("b", b_object);
            return stored_rows(cache, b, *cache.options().v_dim,
                               [&](const KvCache& own, const auto& rows) { own.values(b, rows); });
          },
          "values(self, b)\n--\n\nA copy of the values held of sequence b, as stored: [Hkv, held, Dv].",
          py::arg("b"))
      .def_property_readonly(
          "nbytes",
          [](const Cache& cache) {
            std::ptrdiff_t bytes = 0;
            cache.read([&](const KvCache& own) { bytes = own.nbytes(); });
            return bytes;
          },
          "bytes allocated for keys and values; at least kv_capacity(...)")
      .def_property_readonly(
          "capacity", [](const Cache& cache) { return cache.options().capacity; }, "tokens of a sequence")
      .def_property_readonly(
          "window", [](const Cache& cache) { return cache.options().window; }, "visible keys, or None");
}

}  // namespace rapt::python
