// How much of a long measurement is done and how long the rest takes: a line on a terminal, nothing
// elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace rapt::cli {

class Progress {
 public:
  explicit Progress(std::size_t steps) : steps_(steps) {}
  /// Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  double elapsed() const;
  /// One more of the steps begins.
  void step(const std::string& what);

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t steps_, done_ = 0;
  bool shown_ = false;
};

}  // namespace rapt::cli
