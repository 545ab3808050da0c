#include "plot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "streams.hpp"

extern char** environ;

namespace rapt::cli {
namespace {

plot_failure failure(const char* what) {
  return plot_failure(std::string(what) + ": " + std::strerror(errno));
}

/// A descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

/// All that gnuplot writes before it closes its end.
std::string read_all(int descriptor) {
  std::string all;
  char buffer[65536];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count > 0) all.append(buffer, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return all;
  }
}

/// The commands as a file that has no name, to be read from its beginning.
int file_of(const std::string& commands) {
  const int file = memfd_create("gnuplot commands", MFD_CLOEXEC);
  if (file < 0) throw failure("no file in memory");
  for (std::string_view rest = commands; !rest.empty();) {
    const ssize_t count = write(file, rest.data(), rest.size());
    if (count < 0 && errno != EINTR) {
      const Descriptor closed(file);
      throw failure("no room in memory");
    }
    if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

/// Starts gnuplot between the two descriptors.
pid_t start_gnuplot(int commands, int picture) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, commands, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, picture, STDOUT_FILENO);
  // Its errors take many lines.
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  char name[] = "gnuplot";
  char* const arguments[] = {name, nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, name, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) throw plot_failure("gnuplot is missing, install the package gnuplot-nox");
  if (error != 0) throw plot_failure(std::string("gnuplot cannot run: ") + std::strerror(error));
  return child;
}

/// What gnuplot draws.
std::string picture_of(const std::string& commands) {
  const Descriptor input(file_of(commands));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failure("no pipe");
  const Descriptor output(ends[0]);
  pid_t child = 0;
  {
    const Descriptor its_end(ends[1]);
    child = start_gnuplot(input.get(), ends[1]);
  }
  std::string picture = read_all(output.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw plot_failure("gnuplot could not draw it");
  return picture;
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
      "set terminal {} size {},{} font 'sans,{}'{}\nset logscale xy\n"
      "set grid back lt 1 lc rgb '#dddddd'\nset border 3\nset tics nomirror\n",
      svg ? "svg" : "pngcairo", width, height, svg ? 11 : 9, svg ? " background 'white'" : "");
}

void check_plot(const std::string& file) {
  check_output_file("--plot", file);
  picture_of(plot_beginning(file, 100, 100));
}

void draw(const std::string& file, const std::string& commands) {
  const std::string picture = picture_of(commands);
  if (picture.empty()) throw plot_failure("gnuplot could not draw it");
  write_file(file, picture);
}

std::string quoted_for_gnuplot(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace rapt::cli
