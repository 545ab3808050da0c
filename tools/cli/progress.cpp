#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>

namespace rapt::cli {
namespace {

constexpr std::string_view take_away = "\r\033[K";
constexpr std::size_t bar_width = 20;  // the whole line fits 80 columns

/// What the terminal does not take is not missed.
bool tell(std::string_view text) { return write(STDERR_FILENO, text.data(), text.size()) > 0; }

}  // namespace

Progress::~Progress() {
  if (shown_) tell(take_away);
}

double Progress::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::step(const std::string& what) {
  const double share = static_cast<double>(done_++) / static_cast<double>(steps_);
  if (isatty(STDERR_FILENO) == 0) return;
  const auto bars = static_cast<std::size_t>(share * bar_width);
  std::string line = fmt::format("{}[{}{}] {:3.0f} %", take_away, std::string(bars, '#'),
                                 std::string(bar_width - bars, '.'), share * 100);
  if (share > 0.05) line += fmt::format(", {:.0f} s left", elapsed() / share - elapsed());
  shown_ = tell(line + ": " + what) || shown_;
}

}  // namespace rapt::cli
