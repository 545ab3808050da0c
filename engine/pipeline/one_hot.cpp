#include "pipeline/one_hot.hpp"

#include <algorithm>

namespace rapt::pipeline {

std::vector<std::string> vocabulary(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());  // std::string compares bytes as unsigned
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace rapt::pipeline
