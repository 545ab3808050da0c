#include "pipeline/one_hot.hpp"

#include <catch2/catch.hpp>

using rapt::pipeline::vocabulary;
using Words = std::vector<std::string>;

TEST_CASE("the vocabulary is sorted by unsigned bytes and holds each word once") {
  CHECK(vocabulary({"the", "cat", "the", "cat"}) == Words{"cat", "the"});
  CHECK(vocabulary({"\xC3\xA9t\xC3\xA9", "zoo", "Zoo", "10", "9", "~"}) ==
        Words{"10", "9", "Zoo", "zoo", "~", "\xC3\xA9t\xC3\xA9"});
  CHECK(vocabulary({"\xFF", "\x01", "a", "\x80"}) == Words{"\x01", "a", "\x80", "\xFF"});
  CHECK(vocabulary({"ab", "a", "abc"}) == Words{"a", "ab", "abc"});
  CHECK(vocabulary({"only"}) == Words{"only"});
}
