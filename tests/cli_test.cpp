// The command line as a program: what it writes where, and with which exit status.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace {

using namespace rapt::test;

const std::string case_file = source_file("tests/cases/first.txt");

Finished run(const std::vector<std::string>& arguments, const Setting& setting = {}) {
  return run_rapt(arguments, setting);
}

}  // namespace

TEST_CASE("rapt run prints a case from a file and from standard input") {
  const std::string expected = read_file(RAPT_SOURCE_DIR "/tests/cases/first-out.txt");
  for (const Finished& finished :
       {run({"run", case_file}), run({"run"}, {.standard_input = read_file(case_file)}),
        run({"run", "-"}, {.standard_input = read_file(case_file)}),
        run({"run", case_file, "--threads", "2", "--unbounded"})}) {
    CHECK(finished.status == 0);
    CHECK((finished.out == expected));
    CHECK(finished.err.empty());
  }
}

TEST_CASE("rapt run --stages prints those only, in their order") {
  const std::string all = read_file(RAPT_SOURCE_DIR "/tests/cases/first-out.txt");
  const auto part = [&](const std::string& from, const std::string& to) {
    const std::size_t begin = all.find(from);
    return all.substr(begin, to.empty() ? std::string::npos : all.find(to) - begin);
  };
  const Finished finished = run({"run", "--stages", "6,2", case_file});
  CHECK(finished.status == 0);
  CHECK((finished.out == part("Stage 2", "Stage 3") + part("Stage 6", "")));
  CHECK((run({"run", case_file, "--stages=1"}).out == part("Stage 1", "Stage 2")));
  CHECK((run({"run", "--stages", "2", "--stages", "6", case_file}).out == finished.out));
  for (const std::string list : {",", "2,,", "2,", ",2", "", "7", "0", "26", "2, 6", "2;6", "-1", "1,x"}) {
    check_refused(run({"run", "--stages", list, case_file}), 2,
                  "rapt: --stages: expected stages from 1 to 6 such as 2,6, got '" + list + "'\n");
  }
  check_refused(run({"run", "--threads", "", case_file}), 2,
                "rapt: --threads: expected a number from 1 to 1024, got ''\n");
}

TEST_CASE("rapt run --arithmetic chooses, and textbook is the default") {
  const Finished fused = run({"run", "--arithmetic", "fused", case_file});
  CHECK(fused.status == 0);
  CHECK(fused.out.find("Dot products computed: 140\n") != std::string::npos);
  CHECK((run({"run", "--arithmetic", "textbook", case_file}).out == run({"run", case_file}).out));
  for (const std::string name : {"TEXTBOOK", "0", "1", ""}) {
    check_refused(run({"run", "--arithmetic", name, case_file}), 2,
                  "rapt: --arithmetic: expected one of textbook, fused, got '" + name + "'\n");
  }
}

TEST_CASE("unbounded: --unbounded lifts the limits of the assignment") {
  const std::string text = run({"generate", "--n", "65", "--d", "66", "--g", "33", "--text-len", "67"}).out;
  check_refused(run({"run"}, {.standard_input = text}), 2,
                "rapt: n: line 1, column 1: expected an integer from 1 to 64, got '65'\n");
  const Finished finished = run({"run", "--unbounded"}, {.standard_input = text});
  CHECK(finished.status == 0);
  CHECK(finished.out.find("Gen 32: ") != std::string::npos);
}

TEST_CASE("bad input: exit status 2, nothing on stdout, one line that names the field and the place") {
  check_refused(run({"run"}), 2,
                "rapt: n: line 1, column 1: expected an integer from 1 to 64, got the end of the input\n");
  const std::string good = read_file(case_file);
  check_refused(run({"run"}, {.standard_input = good.substr(0, good.size() / 2)}), 2, "rapt: ");
  check_refused(run({"run"}, {.standard_input = good + "1"}), 2, "rapt: after wv[31][31]: line ");
  check_refused(run({"run"}, {.standard_input = "\xEF\xBB\xBF" + good}), 2, "rapt: n: line 1, column 1: ");
  check_refused(run({"run"}, {.standard_input = good + std::string(1, '\0')}), 2,
                "rapt: after wv[31][31]: line ");
  std::string spoilt = good;
  spoilt.replace(spoilt.rfind("0.0"), 3, "nan");
  check_refused(run({"run"}, {.standard_input = spoilt}), 2, "rapt: wv[31][");
}

TEST_CASE("bad options and files: exit status 2 and one line") {
  for (const std::vector<std::string>& arguments :
       std::initializer_list<std::vector<std::string>>{{},
                                                       {"nothing"},
                                                       {"run", "--nothing"},
                                                       {"run", "--threads", "0"},
                                                       {"run", "--threads", "many"},
                                                       {"run", "--stages", "7"},
                                                       {"run", "--stages", "1,x"},
                                                       {"run", case_file, case_file},
                                                       {"run", "/no/such/file"},
                                                       {"run", "/"},
                                                       {"run", "no\nsuch\nfile"},
                                                       {"generate", "--n", "0"},
                                                       {"generate", "--mask-rate", "1.5"},
                                                       {"generate", "--mask-rate", "nan"},
                                                       {"generate", "--text", ""},
                                                       {"generate", "--seed", "18446744073709551616"},
                                                       {"generate", "--seed", ""},
                                                       {"run", ""},
                                                       {"explain", "--html", ""},
                                                       {"capacity", "--memory", ""},
                                                       {"capacity", "--kv-heads", "9223372036854775808"},
                                                       {"generate", "--structured", "--d", "7"},
                                                       {"generate", "--text", "aword_of_more_than_20_bytes"},
                                                       {"generate", "--seed", "-x"},
                                                       {"info", "more"}}) {
    std::string line;
    for (const std::string& argument : arguments) line += argument + " ";
    INFO(line);
    check_refused(run(arguments), 2, "rapt: ");
  }
  check_refused(run({"nothing"}), 2, "rapt: The following argument was not expected: nothing");
  check_refused(run({"run", "no\x1b[1m\u202esuch\u00e9"}), 2,
                "rapt: no\\x1b[1m\\xe2\\x80\\xaesuch\u00e9: cannot be read: ");
  check_refused(run({}), 2, "rapt: A subcommand is required");
  check_refused(run({"run", case_file}, {.environment = {"RAPT_ISA=mmx"}}), 2,
                "rapt: RAPT_ISA: unknown ISA 'mmx', expected one of ");
  check_refused(run({"info"}, {.environment = {"RAPT_ISA=mmx"}}), 2, "rapt: RAPT_ISA: unknown ISA 'mmx'");
}

TEST_CASE("output that cannot be written: exit status 1 and one line, whatever was to be written") {
  for (const std::vector<std::string>& arguments : std::initializer_list<std::vector<std::string>>{
           {"run", case_file}, {"generate"}, {"info"}, {"--help"}, {"--version"}, {"run", "--help"}}) {
    INFO(arguments[0]);
    check_refused(run(arguments, {.closed_pipe = true}), 1, "rapt: standard output: cannot be written: ");
    if (std::filesystem::exists("/dev/full")) {
      check_refused(run(arguments, {.output = "/dev/full"}), 1, "rapt: standard output: cannot be written: ");
    }
  }
}

TEST_CASE("a file that may not grow is output that cannot be written") {
  const Scratch scratch;
  const Finished finished =
      run_program("sh", {"-c", "{ ulimit -f 0; " RAPT_BINARY_DIR "/bin/rapt generate 2>&1 >'" +
                                   scratch / "out" + "'; echo status $?; } | cat"});
  CHECK(finished.out == "rapt: standard output: cannot be written: File too large\nstatus 1\n");
}

TEST_CASE("help and version are there for the program and every command, and its examples run") {
  const Scratch scratch;
  const std::string path = "PATH=" RAPT_BINARY_DIR "/bin:/usr/bin:/bin";
  for (const char* command : {"", "run", "generate", "explain", "profile", "capacity", "info"}) {
    INFO(command);
    const Finished finished = *command == '\0' ? run({"--help"}) : run({command, "--help"});
    CHECK(finished.status == 0);
    CHECK(finished.err.empty());
    CHECK(finished.out.find("Exit status: ") != std::string::npos);
    std::istringstream lines(finished.out);
    int examples = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("  rapt ", 0) != 0 && line.rfind("  RAPT_ISA=", 0) != 0) continue;
      INFO(line);
      ++examples;
      const Finished example =
          run_program("sh", {"-c", "cd '" + scratch / "" + "' && " + line}, {.environment = {path}});
      INFO(example.err);
      CHECK(example.status == 0);
    }
    CHECK((*command == '\0' || examples >= 2));
  }
  CHECK(run({"--version"}).out.rfind("rapt ", 0) == 0);
}

TEST_CASE("rapt info names the ISA and why") {
  CHECK(run({"info"}).out.find("the best one that runs here") != std::string::npos);
#if defined(__x86_64__)
  const Finished forced = run({"info"}, {.environment = {"RAPT_ISA=baseline"}});
  CHECK(forced.out.find("baseline (RAPT_ISA names it)") != std::string::npos);
#endif
}

TEST_CASE("rapt generate writes the same bytes for a seed, on every machine") {
  const std::string text =
      run({"generate", "--n", "2", "--d", "2", "--g", "1", "--text-len", "3", "--seed", "7"}).out;
  CHECK(text == read_file(RAPT_SOURCE_DIR "/tests/cases/generated-seed-7.txt"));
  CHECK(text != run({"generate", "--n", "2", "--d", "2", "--g", "1", "--text-len", "3", "--seed", "8"}).out);
  CHECK(run({"generate", "--structured", "--text", "the cat sat on the mat because the cat was tired", "--d",
             "32", "--g", "2"})
            .out == read_file(case_file));
}

TEST_CASE("rapt generate writes numbers whose hundredths in units do not fit in 64 bits") {
  // Row 99, the last column: 94 columns of positions, 99 * 94 hundredths, each 10^13 units of the last
  // decimal.
  const Finished finished =
      run_program("sh", {"-c", RAPT_BINARY_DIR
                         "/bin/rapt generate --structured --n 100 --d 1504 --decimals 15 2>/dev/null "
                         "| head -n 103 | tail -n 1"});
  CHECK(finished.out.substr(finished.out.find_last_of(' ') + 1) == "93.060000000000000\n");
}

TEST_CASE("a file of garbage is refused without being kept") {
  const Scratch scratch;
  const std::string path = scratch / "garbage";
  constexpr long size = 1L << 30;
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  const long most_kib = own.ru_maxrss + 40 * 1024;  // a child's peak counts what it was forked from
  // Sparse files: blanks would have to be written, NULs need no space on disk. Digits make one number of 64
  // MB.
  std::ofstream(path) << "1 1 0 1\nw\n1\n";
  std::filesystem::resize_file(path, size);
  const Finished nul = run({"run", path});
  check_refused(nul, 2, "rapt: prompt[0][0]: line 4, column 1: expected a number, got '\\x00");
  CHECK(nul.peak_kib < most_kib);
  {
    std::ofstream file(path, std::ios::binary);
    file << "2000000000 2000000000 0 1\nw\n";
    const std::string some(1 << 16, '1');
    for (int i = 0; i < 1024; ++i) file << some;
  }
  const Finished digits = run({"run", "--unbounded", path});
  check_refused(digits, 2,
                "rapt: mask[0]: line 3, column 1: expected an integer from 0 to 1, got "
                "'111111111111111111111111...'\n");
  CHECK(digits.peak_kib < most_kib);
}
