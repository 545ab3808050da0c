// Input and output of the program on plain file descriptors: no buffers of iostreams, and every failure is
// noticed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rapt::cli {

/// The output could not be written: exit status 1.
struct output_failure {
  int error;  // errno
  std::string name = "standard output";
};

/// A file cannot be opened or read: exit status 2.
struct unreadable_file {
  std::string name;
  int error;  // errno
};

/// A file, or standard input when the name is empty, opened for reading.
class InputFile {
 public:
  explicit InputFile(std::string name);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Up to size bytes; 0 at the end. Throws unreadable_file.
  std::size_t read(char* buffer, std::size_t size);

 private:
  std::string name_;
  int descriptor_;
};

/// Writes all of the text to standard output. Throws output_failure.
void write_output(std::string_view text);

/// Makes a file of the text, in place of what is there. Throws output_failure.
void write_file(const std::string& name, std::string_view text);

/// Asks before work begins whether the file that an option names can be made, and is one that nothing else
/// goes to: not `-`, and not what standard output is. Throws invalid_input or output_failure.
void check_output_file(const std::string& option, const std::string& name);

/// The same of what is read: a file, or standard input where the name is empty. Throws invalid_input.
void check_not_input(const std::string& option, const std::string& name, const std::string& input);

/// Closes standard output: the last moment at which a file system can tell that it lost something. Throws
/// output_failure.
void close_output();

}  // namespace rapt::cli
