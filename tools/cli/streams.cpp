#include "streams.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rapt/error.hpp>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace rapt::cli {

InputFile::InputFile(std::string name)
    : name_(std::move(name)),
      descriptor_(name_.empty() ? STDIN_FILENO : open(name_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw unreadable_file{name_, errno};
}

InputFile::~InputFile() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

std::size_t InputFile::read(char* buffer, std::size_t size) {
  for (;;) {
    const ssize_t count = ::read(descriptor_, buffer, size);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) throw unreadable_file{name_.empty() ? "standard input" : name_, errno};
  }
}

namespace {

void write_all(int descriptor, const std::string& name, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      throw output_failure{errno, name};
    }
  }
}

/// Whether both are one place that keeps or passes on what is written. A device such as /dev/null may be
/// both.
bool same_place(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && !S_ISCHR(a.st_mode);
}

/// Whether there is such a file, or could be. A link to nothing is left to the attempt.
bool can_be_made(const std::string& name) {
  struct stat found {};
  if (stat(name.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) errno = EISDIR;
    return !S_ISDIR(found.st_mode) && access(name.c_str(), W_OK) == 0;
  }
  if (errno != ENOENT) return false;
  if (lstat(name.c_str(), &found) == 0) return true;
  const std::string folder = std::filesystem::path(name).parent_path().string();
  return access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

void write_output(std::string_view text) { write_all(STDOUT_FILENO, "standard output", text); }

void write_file(const std::string& name, std::string_view text) {
  const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) throw output_failure{errno, name};
  try {
    write_all(descriptor, name, text);
  } catch (...) {
    close(descriptor);
    throw;
  }
  if (close(descriptor) != 0 && errno != EINTR) throw output_failure{errno, name};
}

void check_output_file(const std::string& option, const std::string& name) {
  if (name == "-") throw invalid_input(option + ": expected the name of a file, got '-'");
  struct stat file {};
  struct stat output {};
  if (stat(name.c_str(), &file) == 0 && fstat(STDOUT_FILENO, &output) == 0 && same_place(file, output))
    throw invalid_input(option + ": expected a file of its own, got '" + name +
                        "', which is standard output");
  if (!can_be_made(name)) throw output_failure{errno, name};
}

void check_not_input(const std::string& option, const std::string& name, const std::string& input) {
  struct stat file {};
  struct stat read {};
  const int found = input.empty() ? fstat(STDIN_FILENO, &read) : stat(input.c_str(), &read);
  if (found == 0 && stat(name.c_str(), &file) == 0 && same_place(file, read))
    throw invalid_input(option + ": expected a file of its own, got '" + name + "', which is the input");
}

void close_output() {
  if (close(STDOUT_FILENO) != 0 && errno != EINTR) throw output_failure{errno};
}

}  // namespace rapt::cli
