#include "caches.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>

namespace rapt::cli {
namespace {

/// "2048K" in bytes.
std::ptrdiff_t bytes_of(const std::string& size) {
  std::ptrdiff_t number = 0;
  std::from_chars(size.data(), size.data() + size.size(), number);
  return number * (size.ends_with('K') ? 1024 : size.ends_with('M') ? 1024 * 1024 : 1);
}

}  // namespace

std::vector<DataCache> data_caches() {
  std::vector<DataCache> caches;
  for (int index = 0;; ++index) {
    const auto read = [&](const char* what) {
      std::string value;
      std::ifstream(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/{}", index, what)) >> value;
      return value;
    };
    const std::string level = read("level"), type = read("type"), size = read("size");
    if (level.empty()) return caches;
    if (type == "Instruction") continue;
    caches.push_back({fmt::format("L{} {} {}", level, type, size), "L" + level, bytes_of(size)});
  }
}

}  // namespace rapt::cli
