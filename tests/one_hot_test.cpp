// The order of the one-hot table: it is what stage 1 prints.
#include <rapt/embedding.hpp>

#include <catch2/catch.hpp>

using Words = std::vector<std::string>;

namespace {

Words sorted(std::vector<std::string_view> words) { return rapt::OneHotTable(words).words(); }

}  // namespace

TEST_CASE("the vocabulary is sorted by unsigned bytes and holds each word once") {
  CHECK(sorted({"the", "cat", "the", "cat"}) == Words{"cat", "the"});
  CHECK(sorted({"\xC3\xA9t\xC3\xA9", "zoo", "Zoo", "10", "9", "~"}) ==
        Words{"10", "9", "Zoo", "zoo", "~", "\xC3\xA9t\xC3\xA9"});
  CHECK(sorted({"\xFF", "\x01", "a", "\x80"}) == Words{"\x01", "a", "\x80", "\xFF"});
  CHECK(sorted({"ab", "a", "abc"}) == Words{"a", "ab", "abc"});
  CHECK(sorted({"only"}) == Words{"only"});
}
