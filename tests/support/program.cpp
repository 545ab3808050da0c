#include "support/program.hpp"

#include <fcntl.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

namespace rapt::test {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string source_file(const std::string& name) { return RAPT_SOURCE_DIR "/" + name; }

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "rapt_cli_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) FAIL("no scratch folder");
  path_ = name;
}

Scratch::~Scratch() { std::filesystem::remove_all(path_); }

namespace {

/// A terminal that a child writes to, read to its end.
class Terminal {
 public:
  Terminal() {
    if (openpty(&ours_, &theirs_, nullptr, nullptr, nullptr) != 0) FAIL("no terminal");
  }
  ~Terminal() {
    if (reader_.joinable()) reader_.join();
    close(ours_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int child_end() const { return theirs_; }
  /// Once the child has its end.
  void listen() {
    close(theirs_);
    reader_ = std::thread([this] {
      char buffer[4096];
      // The last writer's end of it is told as an error.
      for (ssize_t count = 0; (count = read(ours_, buffer, sizeof buffer)) > 0;)
        text_.append(buffer, static_cast<std::size_t>(count));
    });
  }
  std::string text() {
    reader_.join();
    return text_;
  }

 private:
  int ours_ = -1, theirs_ = -1;
  std::thread reader_;
  std::string text_;
};

}  // namespace

Finished run_program(const std::string& program, const std::vector<std::string>& arguments,
                     const Setting& setting) {
  const Scratch scratch;
  const std::string in = scratch / "in", out = setting.output.empty() ? scratch / "out" : setting.output,
                    err = scratch / "err";
  std::ofstream(in, std::ios::binary) << setting.standard_input;
  int pipe_ends[2] = {-1, -1};
  if (setting.closed_pipe && pipe(pipe_ends) != 0) FAIL("no pipe");
  if (setting.closed_pipe) close(pipe_ends[0]);  // before there is a child that could write in time
  std::optional<Terminal> terminal;
  if (setting.terminal) terminal.emplace();
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(terminal ? terminal->child_end() : open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    if (setting.closed_pipe) {
      dup2(pipe_ends[1], STDOUT_FILENO);
      close(pipe_ends[1]);
    } else {
      dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    }
    for (const std::string& variable : setting.environment) putenv(const_cast<char*>(variable.c_str()));
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execvp(program.c_str(), argv.data());
    _exit(127);
  }
  if (setting.closed_pipe) close(pipe_ends[1]);
  if (terminal) terminal->listen();
  if (setting.interrupt_after_ms > 0) {
    usleep(static_cast<useconds_t>(setting.interrupt_after_ms) * 1000);
    kill(child, SIGINT);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) FAIL("no child");
  REQUIRE(WIFEXITED(status));
  return {WEXITSTATUS(status), setting.output.empty() ? read_file(out) : "",
          terminal ? terminal->text() : read_file(err), usage.ru_maxrss};
}

Finished run_rapt(const std::vector<std::string>& arguments, const Setting& setting) {
  return run_program(RAPT_BINARY_DIR "/bin/rapt", arguments, setting);
}

void check_refused(const Finished& finished, int status, const std::string& beginning) {
  CHECK(finished.status == status);
  CHECK(finished.out.empty());
  CHECK(finished.err.rfind(beginning, 0) == 0);
  REQUIRE_FALSE(finished.err.empty());
  CHECK(finished.err.find('\n') == finished.err.size() - 1);
}

}  // namespace rapt::test
