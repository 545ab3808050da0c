// The staged program against its cases and its plain reference: the same bits and the same bytes on every
// ISA, with one thread and two.
#include <rapt/error.hpp>
#include <rapt/pipeline.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/case_count.hpp"
#include "support/isas.hpp"
#include "support/staged_problem.hpp"
#include "support/threads.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The pairs NAME.txt, NAME-out.txt of a folder.
std::vector<std::filesystem::path> cases_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path& path = entry.path();
    const std::string stem = path.stem().string();
    if (path.extension() == ".txt" && !stem.ends_with("-out")) cases.push_back(path);
  }
  return cases;
}

template <class Body>
void for_each_way_to_run(const Body& body) {
  for_each_isa([&](const Isa& isa) {
    for (const int threads : {1, 2}) {
      INFO(isa.table->name << ", threads " << threads);
      with_threads(threads, body);
    }
  });
}

void check_exact(const pipeline::Input& input) {
  const reference::StagedInput plain = to_reference(input);
  const reference::StagedResult expected = reference::staged(plain);
  const std::string text = reference::staged_text(plain, expected);
  for_each_way_to_run([&] {
    const pipeline::Result result = pipeline::run(input);
    REQUIRE(difference(result, expected) == "");
    REQUIRE((printed(input, result) == text));
  });
}

}  // namespace

TEST_CASE("every case prints exactly its expected bytes") {
  std::vector<std::filesystem::path> cases = cases_in(RAPT_SOURCE_DIR "/tests/cases");
  REQUIRE(cases.size() >= 9);
  if (const char* extra = std::getenv("RAPT_EXTRA_CASES")) {
    for (const auto& path : cases_in(extra)) cases.push_back(path);
  }
  for (const std::filesystem::path& path : cases) {
    INFO(path);
    const std::string expected = read_file(path.parent_path() / (path.stem().string() + "-out.txt"));
    REQUIRE_FALSE(expected.empty());
    const pipeline::Input input = pipeline::parse(read_file(path));
    for_each_way_to_run([&] { CHECK((printed(input, pipeline::run(input)) == expected)); });
    const reference::StagedInput plain = to_reference(input);
    CHECK((reference::staged_text(plain, reference::staged(plain)) == expected));
  }
}

TEST_CASE("random inputs are exact, from their text to the printed bytes") {
  for (int i = 0; i < case_count(70); ++i) {
    const StagedProblem problem = random_problem(static_cast<std::uint64_t>(i));
    INFO(problem);
    const pipeline::Input input = make_input(problem);
    const pipeline::Input read = pipeline::parse(to_text(input));
    REQUIRE(read == input);
    check_exact(read);
  }
}

TEST_CASE("prompts beyond the limits are exact where several threads take part", "[threads]") {
  for (const StagedProblem& problem : {StagedProblem{333, 37, 19, 5, Numbers::two_decimals, 10, 1},
                                       StagedProblem{257, 300, 3, 5, Numbers::ties, 0, 2},
                                       StagedProblem{3, 5, 500, 5, Numbers::three_decimals, 30, 3}}) {
    INFO(problem);
    check_exact(make_input(problem));
  }
}

TEST_CASE("with the whole prompt masked the first generated row is exactly its own v") {
  pipeline::Input input = make_input({5, 7, 2, 3, Numbers::two_decimals, 100, 4});
  const pipeline::Result result = pipeline::run(input);
  input.mask[0] = 1;  // only to project the generated row as if it were a prompt row
  pipeline::Input as_prompt = input;
  std::copy_n(input.generated.begin(), 7, as_prompt.prompt.begin());
  const pipeline::Result projected = pipeline::run(as_prompt);
  CHECK(std::equal(result.generated.begin(), result.generated.begin() + 7, projected.v.begin()));
  CHECK(result.dot_products == std::vector<std::ptrdiff_t>{4 * 7 + 1, 4 * 7 + 2});
}

TEST_CASE("what a masked row holds changes nothing but its own projections, even when it overflows") {
  pipeline::Input input = make_input({9, 6, 3, 3, Numbers::two_decimals, 0, 5});
  input.mask[2] = input.mask[5] = 0;
  pipeline::Input other = input;
  for (int j = 0; j < 6; ++j) other.prompt[2 * 6 + static_cast<std::size_t>(j)] = 1e308;
  const pipeline::Result a = pipeline::run(input), b = pipeline::run(other);
  CHECK(a.scores == b.scores);
  CHECK(a.weights == b.weights);
  CHECK(a.output == b.output);
  CHECK(a.generated == b.generated);
  CHECK_FALSE(a.v == b.v);
}

TEST_CASE("a later row that overflows reaches no earlier row") {
  pipeline::Input input = make_input({40, 6, 3, 3, Numbers::two_decimals, 0, 6});
  pipeline::Input other = input;
  for (int j = 0; j < 6; ++j)
    other.prompt[21 * 6 + static_cast<std::size_t>(j)] = 1e308 * (j % 2 == 0 ? 1 : -1);
  check_exact(other);
  const pipeline::Result a = pipeline::run(input), b = pipeline::run(other);
  CHECK(std::equal(a.output.begin(), a.output.begin() + 21 * 6, b.output.begin()));
}

TEST_CASE("run refuses arrays of other sizes than it is told, and says which") {
  const pipeline::Input good = make_input({3, 2, 1, 1, Numbers::integers, 0, 7});
  const auto refused = [&](auto&& spoil, const char* message) {
    pipeline::Input input = good;
    spoil(input);
    CHECK_THROWS_WITH(pipeline::run(input), message);
    CHECK_THROWS_AS(pipeline::run(input), invalid_input);
  };
  refused([](auto& in) { in.n = 4; }, "mask: 3 elements do not match 4 x 1");
  refused([](auto& in) { in.d = 0; }, "n, d, g: 3, 0, 1, expected at least 1, 1, 0");
  refused([](auto& in) { in.prompt.pop_back(); }, "prompt: 5 elements do not match 3 x 2");
  refused([](auto& in) { in.generated.clear(); }, "generated: 0 elements do not match 1 x 2");
  refused([](auto& in) { in.wv.push_back(0); }, "wv: 5 elements do not match 2 x 2");
  CHECK_THROWS_WITH(pipeline::run(good, static_cast<Arithmetic>(2)),
                    "arithmetic: 2, expected textbook or fused");
}
