// rapt explain as a program: its words, its rows, and its page in a browser.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "support/program.hpp"

using namespace rapt::test;
using nlohmann::json;

namespace {

const std::string first_case = source_file("tests/cases/first.txt");
const std::string padding_case = source_file("tests/cases/padding.txt");

json rows_of(std::vector<std::string> arguments, const std::string& input = "") {
  arguments.insert(arguments.begin(), "explain");
  arguments.emplace_back("--json");
  const Finished finished = run_rapt(arguments, {.standard_input = input});
  INFO(finished.err);
  REQUIRE(finished.status == 0);
  return json::parse(finished.out);
}

/// A matrix that rapt run prints behind a header.
std::vector<std::vector<double>> printed_stage(const std::string& stage, const std::string& file) {
  std::istringstream text(run_rapt({"run", "--stages", stage, file}).out);
  std::vector<std::vector<double>> rows;
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line)) {
    std::istringstream numbers(line);
    rows.emplace_back();
    for (double value = 0; numbers >> value;) rows.back().push_back(value);
  }
  return rows;
}

/// The heat map's rows, each cell as "class:text", from HTML without scripts.
std::vector<std::vector<std::string>> map_of(const std::string& html) {
  const std::size_t begin = html.find("<table class=\"map"), body = html.find("<tbody>", begin);
  REQUIRE(begin != std::string::npos);
  const std::string table = html.substr(body, html.find("</tbody>", body) - body);
  std::vector<std::vector<std::string>> rows;
  static const std::regex cell_tag("<td([^>]*)>([^<]*)</td>"), hidden("class=\"[a-z ]*(later|padding)");
  const std::string row_end = "</tr>";
  for (std::size_t at = 0, end = 0; (end = table.find(row_end, at)) != std::string::npos;
       at = end + row_end.size()) {
    const std::string inner = table.substr(at, end - at);
    auto& cells = rows.emplace_back();
    for (std::sregex_iterator cell(inner.begin(), inner.end(), cell_tag), last; cell != last; ++cell) {
      const std::string attributes = (*cell)[1];
      std::smatch why;
      cells.push_back(std::regex_search(attributes, why, hidden) ? why[1].str() : (*cell)[2].str());
    }
  }
  return rows;
}

bool missing(const std::string& program, const char* package) {
  if (std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0) return false;
  std::cout << "skipped: needs " << package << std::endl;
  return true;
}

/// The page as Chromium has it after its scripts, and what they said.
Finished browse(const Scratch& scratch, const std::string& path) {
  return run_program("chromium",
                     {"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                      "--disable-background-networking", "--disable-component-update", "--disable-sync",
                      "--user-data-dir=" + (scratch / "profile"), "--enable-logging=stderr", "--dump-dom",
                      "file://" + path});
}

}  // namespace

TEST_CASE("rapt explain: weights are those of the staged program, every visible key in order") {
  for (const std::string& file : {first_case, padding_case}) {
    const auto weights = printed_stage("4", file);
    const json rows = rows_of({file, "--top", "1000"});
    std::map<std::size_t, double> sums;
    std::map<std::size_t, double> last;
    for (const json& row : rows) {
      const std::size_t i = row["row"], j = row["key"];
      const double weight = row["weight"];
      CHECK(j <= i);
      sums[i] += weight;
      if (row["rank"] != 1) CHECK(weight <= last[i]);
      last[i] = weight;
      if (i < weights.size()) CHECK(std::abs(weights[i][j] - weight) <= 0.0005 + 1e-12);
    }
    // Up to 1000 terms, each and each sum rounded once.
    for (const auto& [i, sum] : sums) CHECK(std::abs(sum - 1) < 1000 * 0x1p-52);
  }
}

TEST_CASE("rapt explain: generated rows are told with their dot products, padding by name") {
  const std::string words = run_rapt({"explain", first_case}).out;
  CHECK(words.find("Gen 0: 140 = 3 x 32 + 12 + 32\n") != std::string::npos);
  CHECK(words.find("itself") != std::string::npos);
  // tests/cases/first.txt: the second "cat" shares its attention with the first one.
  CHECK(words.find("cat[1]") != std::string::npos);
  CHECK(run_rapt({"explain", padding_case}).out.find("padding: looks at nothing") != std::string::npos);
}

TEST_CASE("rapt explain --text makes its own input, standard input is read without it") {
  const std::string words = "the cat sat on the mat because the cat was tired";
  CHECK(rows_of({"--text", words}) == rows_of({first_case}));
  CHECK(rows_of({}, read_file(first_case)) == rows_of({first_case}));
  const json rows = rows_of({"--text", "tie\x1b[0m , \"a\" \xff", "--top", "1"});
  CHECK(rows[0]["token"] == "tie\\x1b[0m");
  CHECK(rows[3]["token"] == "\\xff");
  CHECK(run_rapt({"explain", "--text", "a, \"b\"", "--csv", "--top", "1"}).out.find("\"a,\"") !=
        std::string::npos);
}

TEST_CASE("rapt explain: numbers that overflow are nan without a sign, and are not said to sum to 1") {
  const Scratch scratch;
  const std::string page = scratch / "page.html";
  const std::string input = "2 1 0 2\na b\n1 1\n1e308 -1e308\n1e308 1e308 1e308\n";
  const std::string words = run_rapt({"explain", "--html", page}, {.standard_input = input}).out;
  const std::string csv = run_rapt({"explain", "--csv"}, {.standard_input = input}).out;
  const std::string html = read_file(page);
  for (const std::string& text : {words, csv, html}) {
    CHECK(text.find("-nan") == std::string::npos);
    CHECK(text.find("nan") != std::string::npos);
  }
  for (const std::string& text : {words, html})
    CHECK(text.find("to 1, but for 2 rows of nan, whose numbers overflow.") != std::string::npos);
  CHECK(map_of(html)[1] == std::vector<std::string>{"nan", "nan"});
  CHECK(run_rapt({"explain", first_case}).out.find("all its shares sum to 1.\n") != std::string::npos);
}

TEST_CASE("rapt explain: one is not many, and what turns the direction of a terminal is written out") {
  const std::string one = run_rapt({"explain"}, {.standard_input = "1 1 0 1\na\n1\n1\n1 1 1\n"}).out;
  CHECK(one.rfind("Row 0 is the prompt.\nA row is a vector of 1 component. ", 0) == 0);
  const std::string two = run_rapt({"explain"}, {.standard_input = "2 1 0 1\na\n1 1\n1 1\n1 1 1\n"}).out;
  CHECK(two.rfind("Rows 0 to 1 are the prompt.\n", 0) == 0);
  CHECK(two.find("There is 1 word, not one for each row") != std::string::npos);
  const json rows =
      rows_of({"--text", "a\u202e \u200e \u2066 \u061c \u00a0 \u2030 \U0001f600", "--top", "1"});
  std::vector<std::string> tokens;
  for (const json& row : rows) {
    if (row["kind"] == "prompt") tokens.push_back(row["token"]);
  }
  CHECK(tokens == std::vector<std::string>{"a\\xe2\\x80\\xae", "\\xe2\\x80\\x8e", "\\xe2\\x81\\xa6",
                                           "\\xd8\\x9c", "\u00a0", "\u2030", "\U0001f600"});
}

TEST_CASE("rapt explain refuses, and tells what it cannot write") {
  for (const std::vector<std::string>& arguments :
       std::initializer_list<std::vector<std::string>>{{"explain", "--top", "0", first_case},
                                                       {"explain", "--text", " "},
                                                       {"explain", "--text", "a", first_case},
                                                       {"explain", "--csv", "--json", first_case},
                                                       {"explain", "/no/such/file"},
                                                       {"explain"}}) {
    check_refused(run_rapt(arguments), 2, "rapt: ");
  }
  check_refused(run_rapt({"explain", first_case, "--html", "/no/such/folder/page.html"}), 1,
                "rapt: /no/such/folder/page.html: cannot be written: ");
  check_refused(run_rapt({"explain", first_case}, {.closed_pipe = true}), 1,
                "rapt: standard output: cannot be written: ");
}

TEST_CASE("rapt explain --html goes to a file of its own, never over its input or its other output") {
  const Scratch scratch;
  const std::string input = scratch / "input", link = scratch / "link", out = scratch / "out";
  const std::string text = read_file(first_case);
  std::ofstream(input) << text;
  std::filesystem::create_hard_link(input, link);
  const std::string told = "rapt: --html: expected a file of its own, got '";
  check_refused(run_rapt({"explain", "--html", input, input}), 2, told + input + "', which is the input\n");
  check_refused(run_rapt({"explain", "--html", link, input}), 2, told + link + "', which is the input\n");
  const auto shell = [&](const std::string& line) {
    return run_program("sh",
                       {"-c", "cd '" + scratch / "" + "' && " RAPT_BINARY_DIR "/bin/rapt explain " + line});
  };
  check_refused(shell("--html input <input"), 2, told + "input', which is the input\n");
  check_refused(shell("--html input - <input"), 2, told + "input', which is the input\n");
  CHECK(read_file(input) == text);
  check_refused(shell("--html - input"), 2, "rapt: --html: expected the name of a file, got '-'\n");
  CHECK_FALSE(std::filesystem::exists(scratch / "-"));
  check_refused(shell("--html /dev/stdout input >out"), 2, told + "/dev/stdout', which is standard output\n");
  check_refused(shell("--html out input >>out"), 2, told + "out', which is standard output\n");
  CHECK(read_file(out).empty());
  CHECK(shell("--html /dev/null input >/dev/null").status == 0);
  CHECK(shell("--html out input && rm out").status == 0);
}

TEST_CASE("rapt explain --html: cells are the weights, hidden ones marked, words escaped, nothing fetched") {
  const Scratch scratch;
  const std::string path = scratch / "page.html";
  REQUIRE(run_rapt({"explain", "--html", path, padding_case}).status == 0);
  const std::string html = read_file(path);
  const auto cells = map_of(html);
  const auto weights = printed_stage("4", padding_case), scores = printed_stage("3", padding_case);
  REQUIRE(cells.size() >= weights.size());
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    REQUIRE(cells[i].size() == cells.size());
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const bool number = cells[i][j] != "later" && cells[i][j] != "padding";
      hidden += number ? 0 : 1;
      if (number) CHECK(std::stod(cells[i][j]) == weights[i][j]);
      if (!number) CHECK(weights[i][j] == 0);
    }
  }
  CHECK(hidden > weights.size() * (weights.size() - 1) / 2);
  CHECK(html.find("http:") == std::string::npos);
  CHECK(html.find("https:") == std::string::npos);
  REQUIRE(
      run_rapt({"explain", "--html", path, "--text", "<script>alert(1)</ & \"quoted\" 'single'"}).status ==
      0);
  const std::string escaped = read_file(path);
  CHECK(escaped.find("alert(1)</") == std::string::npos);
  CHECK(escaped.find("&lt;script&gt;alert(1)&lt;/") != std::string::npos);
}

TEST_CASE("rapt explain --html: large inputs are drawn in blocks") {
  const Scratch scratch;
  const std::string path = scratch / "page.html", input = scratch / "input";
  std::ofstream(input) << run_rapt({"generate", "--n", "512", "--d", "8", "--text-len", "5"}).out;
  REQUIRE(run_rapt({"explain", "--unbounded", "--html", path, input}).status == 0);
  const std::string html = read_file(path);
  CHECK(html.size() < 4 << 20);
  const auto cells = map_of(html);
  CHECK(cells.size() <= 128);
  CHECK(cells[0][cells.size() - 1] == "later");
}

TEST_CASE("rapt explain --html in a browser: no error, and the cells are there") {
  if (missing("chromium", "chromium")) return;
  const Scratch scratch;
  const std::string path = scratch / "page.html";
  REQUIRE(run_rapt({"explain", "--html", path, "--text", "<script>throw(1)</s the cat & cat"}).status == 0);
  const Finished browser = browse(scratch, path);
  REQUIRE(browser.status == 0);
  CHECK(browser.err.find("CONSOLE") == std::string::npos);
  CHECK(map_of(browser.out) == map_of(read_file(path)));
  CHECK(map_of(browser.out)[0][0] == "1.000");
  CHECK(browser.out.find("&lt;script&gt;throw(1)&lt;/s") != std::string::npos);
}

TEST_CASE("rapt explain --html in a browser: keys and pointer tell what a cell is") {
  if (missing("chromium", "chromium")) return;
  const Scratch scratch;
  const std::string path = scratch / "page.html";
  REQUIRE(run_rapt({"explain", "--html", path, first_case}).status == 0);
  const auto told_after = [&](const std::string& script) {
    const std::string moved = scratch / "moved.html";
    std::ofstream(moved) << read_file(path) << "<script>" << script << "</script>";
    const Finished browser = browse(scratch, moved);
    CHECK(browser.status == 0);
    CHECK(browser.err.find("CONSOLE") == std::string::npos);
    const std::string beginning = "aria-live=\"polite\">";
    const std::size_t begin = browser.out.find(beginning) + beginning.size();
    return browser.out.substr(begin, browser.out.find('<', begin) - begin);
  };
  const std::string press =
      "document.querySelector('.map tbody td').focus();"
      "const press = key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: "
      "true}));";
  CHECK(told_after(press + "press('ArrowDown');") == "cat[1] looks at the[0]: 0.048");
  CHECK(told_after(press + "press('ArrowUp'); press('ArrowRight');") ==
        "the[0] cannot look at cat[1]: it comes later");
  CHECK(told_after(press + "press('PageDown'); press('End'); press('End');") ==
        "Gen 1 looks at itself: 0.289");
  CHECK(told_after("for (const cell of document.querySelectorAll('.map th, .map td'))"
                   "cell.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));") ==
        "Gen 1 looks at itself: 0.289");
}
