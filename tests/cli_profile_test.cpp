// rapt profile as a program: exact counts, exponents beside the predicted ones, and a plot. Times are not
// asserted: they are the machine's.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace rapt::test;
using nlohmann::json;

namespace {

/// Small and quick, whatever the machine does.
std::vector<std::string> quick(std::initializer_list<std::string> more) {
  std::vector<std::string> all{"profile",    "--n",  "16:64",    "--d", "8:32",      "--g", "1:8",
                               "--text-len", "4:32", "--points", "3",   "--repeats", "1"};
  all.insert(all.end(), more);
  return all;
}

}  // namespace

TEST_CASE("rapt profile: operations are the closed forms") {
  const Finished finished = run_rapt(quick({"--json"}));
  REQUIRE(finished.status == 0);
  CHECK(finished.err.empty());  // no progress bar in a pipe
  std::map<std::string, int> seen;
  for (const json& row : json::parse(finished.out)) {
    const std::int64_t n = row["n"], d = row["d"], g = row["g"], words = row["text_len"];
    const std::int64_t pairs = n * (n + 1) / 2, generated = g * n + g * (g + 1) / 2;
    if (row["stage"] == "1 one-hot") {
      // Beside the cells, the comparisons of a sort: at least one for each neighbour.
      const std::int64_t comparisons = row["operations"].get<std::int64_t>() - words * words;
      CHECK(comparisons >= words - 1);
      CHECK(static_cast<double>(comparisons) <=
            static_cast<double>(words) * (4 * std::log2(static_cast<double>(words)) + 18));
      ++seen[row["stage"]];
      continue;
    }
    const std::map<std::string, std::int64_t> expected{
        {"2 projection", 3 * n * d * d},
        {"3 scores", pairs * d},
        {"4 weights", pairs},
        {"5 output", pairs * d},
        {"3-5 fused", 2 * pairs * d},
        {"6 generation", 3 * g * d * d + 2 * generated * d},
        {"6 without cache", (2 * generated + 3 * g) * d * d + 2 * generated * d}};
    INFO(row.dump());
    CHECK(row["operations"] == expected.at(row["stage"]));
    CHECK(row["seconds"] > 0.0);
    CHECK(row["fitted_exponent"].is_number());
    CHECK(row["working_set_bytes"] > 0);
    CHECK_FALSE(row["growth"].get<std::string>().empty());
    CHECK_FALSE(row["reason"].get<std::string>().empty());
    ++seen[row["stage"]];
    if (row["stage"] == "2 projection") {
      CHECK(std::abs(row["predicted_exponent"].get<double>() - (row["sweep"] == "d" ? 2 : 1)) < 1e-9);
    }
  }
  CHECK(seen.size() == 8);
}

TEST_CASE("rapt profile: table and CSV") {
  const Finished table = run_rapt(quick({}));
  CHECK(table.status == 0);
  CHECK(table.out.find("predicted") != std::string::npos);
  // Why each stage costs what it does, and what the cache is good for.
  CHECK(table.out.find("every row meets every earlier key") != std::string::npos);
  CHECK(table.out.find("The KV cache makes generation faster") != std::string::npos);
  const std::string csv = run_rapt(quick({"--csv"})).out;
  CHECK(csv.rfind("sweep,stage,n,d,g,text_len,seconds,operations,", 0) == 0);
}

TEST_CASE("rapt profile: a terminal shows a bar with the time left, and keeps nothing of it") {
  const Finished finished = run_rapt(quick({}), {.terminal = true});
  REQUIRE(finished.status == 0);
  const std::string take_away = "\r\033[K";
  CHECK(finished.err.rfind(take_away + "[....................]   0 %: n = 16, stage 2 projection", 0) == 0);
  CHECK(finished.err.find(" s left: ") != std::string::npos);
  REQUIRE(finished.err.size() > take_away.size());
  CHECK(finished.err.substr(finished.err.size() - take_away.size()) == take_away);
  for (std::size_t at = 0, next = 0; at < finished.err.size(); at = next) {
    next = std::min(finished.err.find(take_away, at + 1), finished.err.size());
    CHECK(next - at - take_away.size() <= 80);
  }
  CHECK(finished.out.find('\r') == std::string::npos);
}

TEST_CASE("rapt profile: an interrupt and a used up budget leave what was measured") {
  const Finished interrupted =
      run_rapt({"profile", "--csv", "--points", "100", "--repeats", "1000"}, {.interrupt_after_ms = 1500});
  CHECK(interrupted.status == 0);
  CHECK(interrupted.err.rfind("rapt: interrupted", 0) == 0);
  CHECK(interrupted.out.rfind("sweep,stage,", 0) == 0);
  const Finished late = run_rapt({"profile", "--budget", "0.01", "--json"});
  CHECK(late.status == 0);
  CHECK(late.err.find("--budget") != std::string::npos);
  CHECK(json::parse(late.out).is_array());
}

TEST_CASE("rapt profile --plot draws with gnuplot, or says beforehand that it cannot") {
  const Scratch scratch;
  const std::string path = scratch / "plot.svg";
  const Finished without = run_rapt(quick({"--plot", path}), {.environment = {"PATH=/no/such/folder"}});
  check_refused(without, 1, "rapt: --plot: gnuplot is missing, install the package gnuplot-nox");
  if (run_program("gnuplot", {"--version"}).status != 0) {
    std::cout << "skipped: needs gnuplot-nox" << std::endl;
    return;
  }
  const std::string png = scratch / "plot's.png";
  CHECK(run_rapt(quick({"--plot", path})).status == 0);
  CHECK(read_file(path).find("stage 2 projection") != std::string::npos);
  CHECK(run_rapt(quick({"--plot", png})).status == 0);
  CHECK(read_file(png).rfind("\x89PNG", 0) == 0);
  check_refused(run_rapt(quick({"--plot", "/no/such/folder/plot.svg"})), 1,
                "rapt: /no/such/folder/plot.svg: cannot be written: ");
  std::filesystem::create_directory(scratch / "folder.svg");
  check_refused(run_rapt(quick({"--plot", scratch / "folder.svg"})), 1, "rapt: " + scratch / "folder.svg");
  // A name is no command of gnuplot's, and a disk that is full is noticed.
  const std::string planted = scratch / "planted", full = scratch / "full.svg";
  run_rapt(quick({"--plot", "x'\nsystem(\"touch " + planted + "\")\n#.svg"}));
  CHECK_FALSE(std::filesystem::exists(planted));
  std::filesystem::create_symlink("/dev/full", full);
  CHECK(run_rapt(quick({"--plot", full})).status == 1);
}

TEST_CASE("rapt profile refuses bad options before it measures") {
  for (const std::vector<std::string>& arguments :
       std::initializer_list<std::vector<std::string>>{{"--n", "64"},
                                                       {"--n", "64:32"},
                                                       {"--d", "0:8"},
                                                       {"--g", "1:x"},
                                                       {"--n", "1:70000"},
                                                       {"--points", "2"},
                                                       {"--repeats", "0"},
                                                       {"--budget", "-1"},
                                                       {"--budget", "nan"},
                                                       {"--csv", "--json"},
                                                       {"--plot", "plot.gif"}}) {
    std::vector<std::string> all{"profile"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    INFO(arguments[0] << " " << arguments[1]);
    check_refused(run_rapt(all), 2, "rapt: ");
  }
  check_refused(run_rapt(quick({}), {.closed_pipe = true}), 1, "rapt: standard output: cannot be written: ");
}
