// libFuzzer target of the reader: any bytes are either refused with one line of printable text, or give an
// input that keeps its bits when it is written out and read again.
#include <rapt/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "support/staged_problem.hpp"

using namespace rapt;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view text, pipeline::Limits limits) {
  pipeline::Input input;
  try {
    input = pipeline::parse(text, limits);
  } catch (const invalid_input& error) {
    const std::string_view message = error.what();
    require(message.find(": line ") != message.npos && message.find(": expected ") != message.npos);
    require(message.size() < 400 &&
            std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c < 127; }));
    return;
  }
  const pipeline::Input again = pipeline::parse(test::to_text(input), limits);
  require(again == input);
  // == takes -0 for 0; bits do not.
  require(std::memcmp(again.prompt.data(), input.prompt.data(), input.prompt.size() * sizeof(double)) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  check(text, pipeline::Limits::assignment);
  check(text, pipeline::Limits::unbounded);
  return 0;
}
