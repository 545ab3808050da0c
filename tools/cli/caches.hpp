// The caches of the first core that hold what a program works on, as the kernel describes them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rapt::cli {

struct DataCache {
  std::string name;  // "L2 Unified 2048K"
  std::string level;
  std::ptrdiff_t bytes;
};

/// From the first level on; empty where the kernel does not tell.
std::vector<DataCache> data_caches();

}  // namespace rapt::cli
