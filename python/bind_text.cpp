// Tokens and words: encode, decode, one_hot.
#include <rapt/embedding.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"

namespace rapt::python {
namespace {

py::array encode(const py::object& text, const py::object& bos, const py::object& eos) {
  const std::vector<std::int64_t> ids =
      rapt::encode(bytes_of("text", text), flag_of("bos", bos), flag_of("eos", eos));
  const auto result = new_array<std::int64_t, 1>({std::ssize(ids)});
  std::copy(ids.begin(), ids.end(), result.view.data);
  return result.array;
}

std::vector<std::int64_t> integers_of(const py::object& ids) {
  if (py::isinstance<py::list>(ids) || py::isinstance<py::tuple>(ids)) {
    std::vector<std::int64_t> values;
    for (const py::handle id : ids) {
      if (!PyIndex_Check(id.ptr())) {
        throw py::type_error(std::string("ids: holds a ") + Py_TYPE(id.ptr())->tp_name +
                             " where an int was expected");
      }
      values.push_back(integer_of("ids", id));
    }
    return values;
  }
  const Array array("ids", ids, {Element::i64, Element::i32});
  std::vector<std::int64_t> values;
  const auto copy = [&](const auto& view) {
    for (std::ptrdiff_t t = 0; t < view.extents[0]; ++t) values.push_back(view(t));
  };
  if (array.element() == Element::i64) {
    copy(array.view<std::int64_t, 1>("[tokens]"));
  } else {
    copy(array.view<std::int32_t, 1>("[tokens]"));
  }
  return values;
}

py::object decode(const py::object& ids) {
  const std::vector<std::int64_t> values = integers_of(ids);
  const std::string text = rapt::decode(contiguous(values.data(), {std::ssize(values)}));
  return py::bytes(text).attr("decode")("utf-8", "surrogateescape");
}

py::tuple one_hot(const py::object& words) {
  if (py::isinstance<py::str>(words) || py::isinstance<py::bytes>(words)) {
    throw py::type_error("words: one text where a sequence of words was expected; split it first");
  }
  std::vector<std::string> texts;
  for (const py::handle word : words) {
    if (!py::isinstance<py::str>(word)) {
      throw py::type_error(std::string("words: holds a ") + Py_TYPE(word.ptr())->tp_name +
                           " where a str was expected");
    }
    texts.push_back(bytes_of("words", word));
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const OneHotTable table(views);
  py::list sorted;
  for (const std::string& word : table.words())
    sorted.append(py::bytes(word).attr("decode")("utf-8", "surrogateescape"));
  const auto vectors = new_array<double, 2>({table.size(), table.size()});
  table.vectors(vectors.view);
  return py::make_tuple(sorted, vectors.array);
}

constexpr const char* encode_doc = R"(encode(text, *, bos=False, eos=False)
--

One id per byte of text (str as UTF-8, or bytes): byte + 4, after BOS (2) if bos and before EOS (3) if eos; int64 [T].

Vocabulary 260: 0 PAD, 1 UNK, 2 BOS, 3 EOS, then the bytes. encode("Hello") is [76, 105, 112, 112, 115].)";

constexpr const char* decode_doc = R"(decode(ids)
--

The str of ids: an int64 or int32 array [T], or a list of ints. PAD, UNK, BOS and EOS leave nothing.

decode(encode(text)) == text. Bytes that are not UTF-8 come back as lone surrogates (errors="surrogateescape").
ValueError naming the first id outside [0, 260).)";

constexpr const char* one_hot_doc = R"(one_hot(words)
--

The distinct words in ascending order of their UTF-8 bytes, and their vectors; returns (list of str, float64 [U, U]).

The vectors are the rows of the identity: word i has a 1 in column i.)";

}  // namespace

void bind_text(py::module_& module) {
  module.def("encode", &encode, encode_doc, py::arg("text"), py::kw_only(), py::arg("bos") = false,
             py::arg("eos") = false);
  module.def("decode", &decode, decode_doc, py::arg("ids"));
  module.def("one_hot", &one_hot, one_hot_doc, py::arg("words"));
}

}  // namespace rapt::python
