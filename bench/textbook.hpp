// The baseline of vs_textbook: the formulas as a textbook writes them, sum innermost, the C library's exp.
// Built with -O3 -march=native and contraction allowed (bench/CMakeLists.txt): the best that a compiler makes
// of them without reordering a sum.
#pragma once

#include <cstddef>

namespace rapt::bench::textbook {

/// y [rows, d] = x [rows, d] w [d, d].
template <class T>
void project(const T* x, const T* w, T* y, std::ptrdiff_t rows, std::ptrdiff_t d);

/// Causal scores q k / sqrt(d) to scores [n, n]; nothing above the diagonal.
template <class T>
void scores(const T* q, const T* k, T* scores, std::ptrdiff_t n, std::ptrdiff_t d);

/// Scores to weights, row by row, what the diagonal allows.
template <class T>
void weights(const T* scores, T* weights, std::ptrdiff_t n);

/// out [n, d] = weights v, what the diagonal allows.
template <class T>
void output(const T* weights, const T* v, T* out, std::ptrdiff_t n, std::ptrdiff_t d);

/// One row's attention over `keys` keys; row [keys] is scratch.
template <class T>
void attend(const T* q, const T* k, const T* v, T* row, T* out, std::ptrdiff_t keys, std::ptrdiff_t d);

/// g generated rows after n prompt rows: each is projected, appended to k and v [n + g, d], and attends to
/// all before it and itself.
template <class T>
void generate(const T* x, const T* wq, const T* wk, const T* wv, T* q, T* k, T* v, T* row, T* out,
              std::ptrdiff_t n, std::ptrdiff_t g, std::ptrdiff_t d);

}  // namespace rapt::bench::textbook
