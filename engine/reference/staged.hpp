// The staged program as its specification reads: plain loops in double, the C library's exp and printf. It
// shares nothing with the engine and is never linked into it; what rapt computes and prints is compared with
// this, bit by bit and byte by byte.
#pragma once

#include <string>
#include <vector>

namespace rapt::reference {

struct StagedInput {
  int n, d, g;
  std::vector<std::string> words;
  std::vector<unsigned char> mask;                    // [n]
  std::vector<double> prompt, generated, wq, wk, wv;  // [n, d], [g, d], [d, d] each
};

struct StagedResult {
  std::vector<std::string> vocabulary;
  std::vector<double> q, k, v;          // [n, d]
  std::vector<double> scores, weights;  // [n, n]
  std::vector<double> output;           // [n, d]
  std::vector<double> generated;        // [g, d]
  std::vector<long> dot_products;       // [g], counted one by one
};

StagedResult staged(const StagedInput& input);

/// All six stages as printed. Needs a locale with a decimal point, such as a program starts with.
std::string staged_text(const StagedInput& input, const StagedResult& result);

}  // namespace rapt::reference
