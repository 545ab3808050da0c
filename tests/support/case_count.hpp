// How many random cases a test runs: a modest number in the ordinary run, RAPT_CASES times as many when that
// is set.
#pragma once

#include <cstdlib>

inline int case_count(int ordinary) {
  const char* factor = std::getenv("RAPT_CASES");
  return factor == nullptr ? ordinary : static_cast<int>(ordinary * std::atof(factor));
}
