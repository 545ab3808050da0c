// The vocabulary of stage 1: its order gives each word its one-hot column.
#pragma once

#include <string>
#include <vector>

namespace rapt::pipeline {

/// The words once each, in the order of their unsigned bytes (digits, upper case, lower case, UTF-8). Cost:
/// sorting them.
std::vector<std::string> vocabulary(std::vector<std::string> words);

}  // namespace rapt::pipeline
