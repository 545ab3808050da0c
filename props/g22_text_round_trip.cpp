// G22: what generate writes, run reads; malformed text never prints a stage. Both as programs.
#include <rapt/error.hpp>

#include <cstdio>

#include "property.hpp"
#include "support/staged_gen.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

/// What a command prints on stdout.
std::string output_of(const std::string& command) {
  FILE* pipe = popen((RAPT_BINARY_DIR "/bin/rapt " + command).c_str(), "r");
  RC_ASSERT(pipe != nullptr);
  std::string text;
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, count);
  RC_ASSERT(pclose(pipe) == 0);
  return text;
}

/// The text with one fault that the format forbids.
std::string spoiled(std::string text) {
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const std::size_t last_end = text.find_last_not_of(" \n") + 1;
  const std::size_t last = text.find_last_of(" \n", last_end - 1) + 1;
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return text.substr(0, std::min(at, last));
    case 1:
      return text.insert(at, 1, '\0');
    case 2:
      return text + *rc::gen::element<std::string>("0", "x", "1 1", "\xEF\xBB\xBF");
    case 3:
      return "\xEF\xBB\xBF" + text;
    default:
      break;
  }
  // A number of the last matrix becomes none.
  return text.replace(last, last_end - last,
                      *rc::gen::element<std::string>("nan", "inf", "0x1", "1e999", "1.2.3", "--1", "1,5", "",
                                                     "e1", "1 2", "1_0"));
}

}  // namespace

TEST_CASE("G22 what generate writes, run reads") {
  property("for every size, seed and style", [] {
    const auto problem = *gen::staged_problem();
    std::string options = " --n " + std::to_string(problem.n) + " --g " + std::to_string(problem.g) +
                          " --text-len " + std::to_string(problem.text_len) + " --seed " +
                          std::to_string(problem.seed) + " --decimals " +
                          std::to_string(*rc::gen::inRange(0, 16)) + " --mask-rate 0." +
                          std::to_string(problem.masked_percent % 100);
    const bool structured = problem.d >= 8 && *rc::gen::arbitrary<bool>();
    options += " --d " + std::to_string(problem.d) + (structured ? " --structured" : "");
    const std::string text = output_of("generate" + options);
    const pipeline::Input input = pipeline::parse(text);
    RC_ASSERT(input.n == problem.n && input.d == problem.d && input.g == problem.g &&
              input.text_len() == problem.text_len);
    RC_ASSERT(output_of("generate" + options + " | " RAPT_BINARY_DIR "/bin/rapt run") ==
              printed(input, pipeline::run(input)));
  });
}

TEST_CASE("G22 malformed text is refused before a stage is printed") {
  property("wherever the fault is", [] {
    const std::string text = spoiled(to_text(make_input(*gen::staged_problem())));
    try {
      pipeline::parse(text);
    } catch (const invalid_input& error) {
      const std::string message = error.what();
      RC_ASSERT(message.find(": line ") != std::string::npos);
      RC_ASSERT(message.find(", column ") != std::string::npos);
      RC_ASSERT(message.find(": expected ") != std::string::npos);
      RC_ASSERT(message.find('\n') == std::string::npos);
      return;
    }
    RC_FAIL("accepted");
  });
}
