// The byte tokenizer and the one-hot table.
#include <rapt/embedding.hpp>
#include <rapt/error.hpp>

#include <catch2/catch.hpp>

using namespace rapt;
using Catch::Contains;

namespace {

View<const std::int64_t, 1> view_of(const std::vector<std::int64_t>& ids) {
  return contiguous(ids.data(), {std::ssize(ids)});
}

std::vector<double> vectors_of(const OneHotTable& table) {
  std::vector<double> values(static_cast<std::size_t>(table.size() * table.size()), -1.0);
  table.vectors(contiguous(values.data(), {table.size(), table.size()}));
  return values;
}

}  // namespace

TEST_CASE("encode gives byte + 4, between BOS and EOS when asked") {
  CHECK(encode("Hello") == std::vector<std::int64_t>{76, 105, 112, 112, 115});
  CHECK(encode("Hi", true, true) == std::vector<std::int64_t>{2, 76, 109, 3});
  CHECK(encode("").empty());
  CHECK(encode("", true, true) == std::vector<std::int64_t>{2, 3});
  CHECK(encode("\xff") == std::vector<std::int64_t>{259});
}

TEST_CASE("decode undoes encode for every byte, NUL too") {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
  CHECK(decode(view_of(encode(every_byte))) == every_byte);
  CHECK(decode(view_of(encode(every_byte, true, true))) == every_byte);
}

TEST_CASE("decode leaves out special ids and reads backwards through a negative stride") {
  CHECK(decode(view_of({0, 2, 76, 1, 109, 3, 0})) == "Hi");
  const std::vector<std::int64_t> ids = encode("abc");
  CHECK(decode({ids.data() + 2, {3}, {-1}}) == "cba");
}

TEST_CASE("decode names the first id that is no token, and its place") {
  CHECK_THROWS_WITH(decode(view_of({76, 260, -1})), Contains("ids[1] is 260") && Contains("below 260"));
  CHECK_THROWS_AS(decode(view_of({-1})), invalid_input);
  const std::int64_t id = 76;
  CHECK_THROWS_WITH(decode({&id, {-1}, {1}}), "decode: ids: len -1, expected at least 0");
  CHECK_THROWS_WITH(decode({nullptr, {1}, {1}}), "decode: ids: its data is null, expected elements");
}

TEST_CASE("one-hot words are sorted by unsigned bytes and told apart once") {
  const std::string_view words[]{"b", "é", "Z", "a", "10", "b", "9"};
  const OneHotTable table(words);
  CHECK(table.words() == std::vector<std::string>{"10", "9", "Z", "a", "b", "é"});
  CHECK(table.index_of("Z") == 2);
  CHECK(vectors_of(OneHotTable(std::span(words, 2))) == std::vector<double>{1, 0, 0, 1});
}

TEST_CASE("one word has the vector (1), and no word an empty table") {
  const std::string_view a[]{"a", "a"};
  CHECK(vectors_of(OneHotTable(a)) == std::vector<double>{1});
  CHECK(OneHotTable({}).size() == 0);
}

TEST_CASE("the one-hot table refuses an unknown word and an output of another shape") {
  const std::string_view words[]{"a", "b"};
  const OneHotTable table(words);
  CHECK_THROWS_WITH(table.index_of("c"), Contains("'c'") && Contains("2 words"));
  CHECK_THROWS_WITH(table.index_of("c\n\x1B"), Contains("'c\\x0a\\x1b'"));
  double out[6] = {7, 7, 7, 7, 7, 7};
  CHECK_THROWS_WITH(table.vectors(contiguous(out, {2, 3})), Contains("[2, 3]") && Contains("[2, 2]"));
  CHECK(out[0] == 7);
}
