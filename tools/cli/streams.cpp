#include "streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

void close_output() {
  if (close(STDOUT_FILENO) != 0 && errno != EINTR) throw output_failure{errno};
}

}  // namespace rapt::cli
