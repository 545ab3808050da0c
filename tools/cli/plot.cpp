#include "plot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

extern char** environ;

namespace rapt::cli {
namespace {

/// Writes all of the text; a reader that is gone ends it, and its exit status tells why.
void feed(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

void add_plot(CLI::App& command, std::string& file, const std::string& help) {
  command.add_option("--plot", file, help + ", with gnuplot (package gnuplot-nox)")
      ->check([](const std::string& name) {
        return name.ends_with(".svg") || name.ends_with(".png")
                   ? ""
                   : "expected a name in .svg or .png, got '" + name + "'";
      })
      ->type_name("OUT.svg|OUT.png");
}

std::string plot_beginning(const std::string& file, int width, int height) {
  const bool svg = file.ends_with(".svg");
  return fmt::format(
      "set terminal {} size {},{} font 'sans,{}'{}\nset output {}\nset logscale xy\n"
      "set grid back lt 1 lc rgb '#dddddd'\nset border 3\nset tics nomirror\n",
      svg ? "svg" : "pngcairo", width, height, svg ? 11 : 9, svg ? " background 'white'" : "",
      quoted_for_gnuplot(file));
}

void run_gnuplot(const std::string& commands) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw plot_failure(std::string("no pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  // What gnuplot says would mix with the numbers, and its errors take many lines.
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  char name[] = "gnuplot";
  char* const arguments[] = {name, nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, name, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  if (error == 0) feed(ends[1], commands);
  close(ends[1]);
  if (error == ENOENT) throw plot_failure("gnuplot is missing, install the package gnuplot-nox");
  if (error != 0) throw plot_failure(std::string("gnuplot cannot run: ") + std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw plot_failure("gnuplot could not draw or write it");
}

std::string quoted_for_gnuplot(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace rapt::cli
