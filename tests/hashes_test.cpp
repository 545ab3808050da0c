// The committed hashes: the same bits on every machine, compiler and ISA with FMA, for ever.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "support/isas.hpp"
#include "support/run.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

// Lines of the file, comments left out: a problem and the hash of its out.
std::vector<std::string> committed_lines() {
  std::ifstream file(RAPT_SOURCE_DIR "/tests/hashes.txt");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) lines.push_back(line);
  }
  return lines;
}

std::string problem_of(const std::string& line) { return line.substr(0, line.find(' ')); }

std::string line_of(const std::string& problem, const Answer& answer) {
  std::ostringstream line;
  line << problem << ' ' << std::hex << hash_of(answer.out);
  return line.str();
}

}  // namespace

TEST_CASE("hashes: the definition gives the committed bits") {
  const std::vector<std::string> lines = committed_lines();
  CHECK(lines.size() >= 40);
  for (const std::string& line : lines) {
    const std::string problem = problem_of(line);
    CHECK(line_of(problem, define(make_data(parse_problem(problem)))) == line);
  }
}

TEST_CASE("hashes: every ISA with FMA gives the committed bits") {
  for_each_isa([](const Isa& isa) {
    for (const std::string& line : committed_lines()) {
      CAPTURE(isa.table->name);
      const std::string problem = problem_of(line);
      if (isa.has_fma) CHECK(line_of(problem, run(make_data(parse_problem(problem)))) == line);
    }
  });
}
