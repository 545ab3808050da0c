// The command line as a program: runs it, and keeps what it wrote where and its exit status.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rapt::test {

struct Finished {
  int status;
  std::string out, err;
  long peak_kib;
};

struct Setting {
  std::string standard_input = {};  // its bytes
  std::string output = {};          // a file to write to in place of the scratch one
  bool closed_pipe = false;         // the reader of the output is gone
  std::vector<std::string> environment = {};
  int interrupt_after_ms = 0;  // sends SIGINT then
  bool terminal = false;       // standard error is one
};

/// A folder of this test run, gone at its end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path);

/// A file of the source tree.
std::string source_file(const std::string& name);

/// Runs rapt. REQUIREs that it ends by itself.
Finished run_rapt(const std::vector<std::string>& arguments, const Setting& setting = {});

/// Runs any program, found as the shell finds it.
Finished run_program(const std::string& program, const std::vector<std::string>& arguments,
                     const Setting& setting = {});

/// Nothing on stdout, one line on stderr, the given status.
void check_refused(const Finished& finished, int status, const std::string& beginning);

}  // namespace rapt::test
