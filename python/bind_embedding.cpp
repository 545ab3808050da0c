// Embedding, sinusoidal and rope with NumPy arrays.
#include <rapt/embedding.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "threads.hpp"

namespace rapt::python {
namespace {

Position position_named(const py::object& position) {
  return choice_of<Position>(
      "position", position,
      {{"none", Position::none}, {"sinusoidal", Position::sinusoidal}, {"learned", Position::learned}});
}

py::array sinusoidal(const py::object& length_object, const py::object& hidden_dim_object) {
  const std::ptrdiff_t length = integer_of("length", length_object);
  const std::ptrdiff_t hidden_dim = integer_of("hidden_dim", hidden_dim_object);
  if (length < 0)
    throw invalid_input("sinusoidal: length is " + std::to_string(length) + ", expected at least 0");
  if (hidden_dim < 1)
    throw invalid_input("sinusoidal: hidden_dim is " + std::to_string(hidden_dim) + ", expected positive");
  const auto table = new_array<float, 2>({length, hidden_dim});
  compute([&] { rapt::sinusoidal(table.view); });
  return table.array;
}

// A table as an array that shares the memory of its embedding and keeps it alive.
py::object table_of(const py::object& self, const View<float, 2>& table) {
  return py::array(py::dtype::of<float>(), {table.extents[0], table.extents[1]},
                   {table.strides[0] * static_cast<std::ptrdiff_t>(sizeof(float)),
                    static_cast<std::ptrdiff_t>(sizeof(float))},
                   table.data, self);
}

void set_table(const char* name, const View<float, 2>& table, const py::object& values) {
  const Array array(name, values, {Element::f32});
  const auto source = array.view<float, 2>("[rows, hidden_dim]");
  if (source.extents != table.extents) {
    throw invalid_input(std::string(name) + ": shape " + array.shape_text() +
                        " does not match the table's (" + std::to_string(table.extents[0]) + ", " +
                        std::to_string(table.extents[1]) + ")");
  }
  // All is read before anything is written: values may be a view of the table itself.
  std::vector<float> read;
  read.reserve(static_cast<std::size_t>(table.extents[0] * table.extents[1]));
  for (std::ptrdiff_t row = 0; row < table.extents[0]; ++row)
    for (std::ptrdiff_t u = 0; u < table.extents[1]; ++u) read.push_back(source(row, u));
  std::copy(read.begin(), read.end(), table.data);
}

template <class Id, int N>
py::object forward_of(const Embedding& embedding, const Array& ids, std::int64_t first_position,
                      const std::optional<Array>& out, const py::object& out_object) {
  const auto view = ids.view<Id, N>(N == 1 ? "[tokens]" : "[batch, tokens]");
  std::array<std::ptrdiff_t, N + 1> extents{};
  std::copy(view.extents.begin(), view.extents.end(), extents.begin());
  extents[N] = embedding.options().hidden_dim;
  const auto result = given_or_new<float, N + 1>(
      out, out_object, N == 1 ? "[tokens, hidden_dim]" : "[batch, tokens, hidden_dim]", extents);
  compute([&] { embedding.forward(view, result.view, first_position); });
  return result.array;
}

py::object forward(const Embedding& embedding, const py::object& ids, const py::object& first_position_object,
                   const py::object& out) {
  const Array array("ids", ids, {Element::i64, Element::i32});
  const auto out_array = optional_array("out", out, {Element::f32});
  const std::int64_t first_position = integer_of("first_position", first_position_object);
  if (array.ndim() != 1 && array.ndim() != 2) {
    throw invalid_input("ids: shape " + array.shape_text() + ", expected 1D [tokens] or 2D [batch, tokens]");
  }
  // Refused before memory for the result is asked for: ids may be a broadcast of enormous extent.
  const std::ptrdiff_t seq_len = array.extent(array.ndim() - 1);
  if (seq_len > embedding.options().max_seq_len) {
    throw invalid_input("ids: seq_len " + std::to_string(seq_len) + " is more than max_seq_len " +
                        std::to_string(embedding.options().max_seq_len));
  }
  const bool wide = array.element() == Element::i64;
  const auto call = [&](auto function) { return function(embedding, array, first_position, out_array, out); };
  if (array.ndim() == 1) return call(wide ? &forward_of<std::int64_t, 1> : &forward_of<std::int32_t, 1>);
  return call(wide ? &forward_of<std::int64_t, 2> : &forward_of<std::int32_t, 2>);
}

// x [..., T, D] as [batch, heads, T, D]: the first axis is the batch, where positions may differ; axes
// between are heads. More than two of them are walked, since no single stride need lead through them.
template <class T>
struct Rows {
  std::vector<std::ptrdiff_t> outer_extents, x_strides, out_strides;  // the axes between batch and heads
  View<const T, 4> x;
  View<T, 4> out;
};

template <class T>
void rope_rows(const Rows<T>& rows, const View<const std::int64_t, 2>& positions,
               const RopeOptions& options) {
  std::ptrdiff_t calls = 1;
  for (const std::ptrdiff_t extent : rows.outer_extents) calls *= extent;
  for (std::ptrdiff_t call = 0; call < calls; ++call) {
    View<const T, 4> x = rows.x;
    View<T, 4> out = rows.out;
    std::ptrdiff_t rest = call;
    for (std::size_t axis = rows.outer_extents.size(); axis-- > 0; rest /= rows.outer_extents[axis]) {
      x.data += rest % rows.outer_extents[axis] * rows.x_strides[axis];
      out.data += rest % rows.outer_extents[axis] * rows.out_strides[axis];
    }
    rapt::rope(x, positions, out, options);
  }
}

template <class T>
void add_axes(Rows<T>& rows, const py::array& x, const py::array& out) {
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  const auto stride = [](const py::array& array, std::ptrdiff_t axis) {
    if (array.shape(axis) > 1 && array.strides(axis) % size != 0)
      throw invalid_input("x: its elements are not aligned");
    return array.shape(axis) > 1 ? array.strides(axis) / size : 0;
  };
  const auto set = [&](std::size_t to, std::ptrdiff_t from) {
    rows.x.extents[to] = rows.out.extents[to] = x.shape(from);
    rows.x.strides[to] = stride(x, from);
    rows.out.strides[to] = stride(out, from);
  };
  const std::ptrdiff_t ndim = x.ndim();
  rows.x.extents = rows.out.extents = {1, 1, 1, 1};
  set(3, ndim - 1);
  set(2, ndim - 2);
  if (ndim > 2) set(0, 0);
  if (ndim > 3) set(1, ndim - 3);
  for (std::ptrdiff_t axis = 1; axis < ndim - 3; ++axis) {
    rows.outer_extents.push_back(x.shape(axis));
    rows.x_strides.push_back(stride(x, axis));
    rows.out_strides.push_back(stride(out, axis));
  }
}

py::object rope(const py::object& x_object, const py::object& positions, const py::object& base,
                const py::object& interleaved, const py::object& out_object) {
  const Array x("x", x_object);
  const Array position_array("positions", positions, {Element::i64});
  const auto out_array = optional_array("out", out_object, real_elements);
  if (out_array) out_array->require_element_of(x);
  const RopeOptions options{.base = real_of("base", base),
                            .interleaved = flag_of("interleaved", interleaved)};
  if (x.ndim() < 2) throw invalid_input("x: shape " + x.shape_text() + ", expected [..., tokens, head_dim]");
  const bool each_sequence = position_array.ndim() == 2 && x.ndim() > 2;
  const auto seen = each_sequence
                        ? position_array.view<std::int64_t, 2>("[batch, tokens]")
                        : position_array.view<std::int64_t, 2>("[tokens]", position_array.ndim() == 1);
  const std::ptrdiff_t batch = x.ndim() > 2 ? x.extent(0) : 1;
  const std::ptrdiff_t tokens = x.extent(x.ndim() - 2);
  if (seen.extents[1] != tokens || (each_sequence && seen.extents[0] != batch) ||
      (!each_sequence && seen.extents[0] != 1)) {
    throw invalid_input("positions: shape " + position_array.shape_text() + " does not match x: shape " +
                        x.shape_text() + ", expected [tokens] or [batch, tokens]");
  }
  const View<const std::int64_t, 2> every{
      seen.data, {batch, tokens}, {each_sequence ? seen.strides[0] : 0, seen.strides[1]}};

  return with_real(x.element(), [&]<class T>() -> py::object {
    const auto source = py::reinterpret_borrow<py::array>(x_object);
    if (out_array && !out_array->same_shape(x)) {
      throw invalid_input("out: shape " + out_array->shape_text() + " does not match x: shape " +
                          x.shape_text());
    }
    const auto result =
        out_array ? py::reinterpret_borrow<py::array>(out_object)
                  : py::array(py::dtype::of<T>(),
                              std::vector<py::ssize_t>(source.shape(), source.shape() + source.ndim()));
    Rows<T> rows;
    rows.x.data = static_cast<const T*>(source.data());
    if (out_array) {
      rows.out.data = out_array->writable_data<T>();
    } else {
      rows.out.data = static_cast<T*>(const_cast<void*>(result.data()));
    }
    add_axes(rows, source, result);
    compute([&] { rope_rows(rows, every, options); });
    return result;
  });
}

constexpr const char* sinusoidal_doc = R"(sinusoidal(length, hidden_dim)
--

The sinusoidal position table, float32 [length, hidden_dim]: sine in even columns, cosine in odd ones, of
pos / 10000^(2 (dim // 2) / hidden_dim). Row 0 is exactly 0, 1, 0, 1, ...)";

constexpr const char* rope_doc = R"(rope(x, positions, *, base=10000.0, interleaved=False, out=None)
--

Rotary positions: pair i of the row at position p turns by p * base^(-2 i / D); returns an array like x.

x float32 or float64 [..., T, D], D even, any strides; positions int64 [T], or [B, T] with B the first axis of x.
Pairs are (i, i + D/2), or (2i, 2i + 1) if interleaved. out may be x itself. Position 0 keeps the bits of a row.
Accurate at every position: each sine and cosine is within one ulp (float32: for 64-bit positions; float64: to 2^40).)";

constexpr const char* embedding_doc =
    R"(Token and position embeddings in float32: out[t] = token_table[ids[t]] + position_table[t].

position is "none", "sinusoidal" (closed form, goes on beyond the table) or "learned". The random start is normal with
standard deviation std; a seed gives the same bits on every machine.)";

constexpr const char* init_doc =
    R"(__init__(self, vocab_size=260, hidden_dim=64, max_seq_len=128, *, position="sinusoidal", std=0.02, seed=0)
--

ValueError when a size is below 1, a table does not fit in memory's addresses, or std is negative or not finite.)";

constexpr const char* forward_doc = R"(forward(self, ids, *, first_position=0, out=None)
--

ids int64 or int32 [T] or [B, T]; returns float32 [T, hidden_dim] or [B, T, hidden_dim].

An id outside the vocabulary reads the row of UNK, min(1, vocab_size - 1). Row t stands at first_position + t.
ValueError: T above max_seq_len; learned positions beyond their table.)";

}  // namespace

void bind_embedding(py::module_& module) {
  const py::object none = py::none();
  module.def("sinusoidal", &sinusoidal, sinusoidal_doc, py::arg("length"), py::arg("hidden_dim"));
  module.def("rope", &rope, rope_doc, py::arg("x"), py::arg("positions"), py::kw_only(),
             py::arg("base") = 10000.0, py::arg("interleaved") = false, py::arg("out") = none);

  py::class_<Embedding>(module, "Embedding", embedding_doc)
      .def(py::init([](const py::object& vocab_size, const py::object& hidden_dim,
                       const py::object& max_seq_len, const py::object& position, const py::object& std,
                       const py::object& seed) {
             const EmbeddingOptions options{.vocab_size = integer_of("vocab_size", vocab_size),
                                            .hidden_dim = integer_of("hidden_dim", hidden_dim),
                                            .max_seq_len = integer_of("max_seq_len", max_seq_len),
                                            .position = position_named(position),
                                            .std = real_of("std", std),
                                            .seed = unsigned_of("seed", seed)};
             const WithoutGil released;
             return std::make_unique<Embedding>(options);
           }),
           init_doc, py::arg("vocab_size") = 260, py::arg("hidden_dim") = 64, py::arg("max_seq_len") = 128,
           py::kw_only(), py::arg("position") = "sinusoidal", py::arg("std") = 0.02, py::arg("seed") = 0)
      .def("forward", &forward, forward_doc, py::arg("ids"), py::kw_only(), py::arg("first_position") = 0,
           py::arg("out") = none)
      .def_property(
          "token_table",
          [](const py::object& self) { return table_of(self, self.cast<Embedding&>().token_table()); },
          [](Embedding& self, const py::object& values) {
            set_table("token_table", self.token_table(), values);
          },
          "float32 [vocab_size, hidden_dim], the embedding's own memory; assigning copies into it")
      .def_property(
          "position_table",
          [](const py::object& self) { return table_of(self, self.cast<Embedding&>().position_table()); },
          [](Embedding& self, const py::object& values) {
            set_table("position_table", self.position_table(), values);
          },
          "float32 [max_seq_len, hidden_dim] ([0, hidden_dim] for \"none\"), likewise")
      .def_property_readonly(
          "vocab_size", [](const Embedding& self) { return self.options().vocab_size; },
          "rows of token_table")
      .def_property_readonly(
          "hidden_dim", [](const Embedding& self) { return self.options().hidden_dim; },
          "columns of both tables")
      .def_property_readonly(
          "max_seq_len", [](const Embedding& self) { return self.options().max_seq_len; },
          "the longest sequence that forward takes");
}

}  // namespace rapt::python
