#include "openblas_attention.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

namespace rapt::bench {
namespace {

using Size = std::ptrdiff_t;

// c = alpha a b or alpha a b^T, all row-major.
void gemm(CBLAS_TRANSPOSE transposed, Size rows, Size columns, Size steps, float alpha, const float* a,
          Size lda, const float* b, Size ldb, float* c, Size ldc) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed, static_cast<blasint>(rows),
              static_cast<blasint>(columns), static_cast<blasint>(steps), alpha, a, static_cast<blasint>(lda),
              b, static_cast<blasint>(ldb), 0, c, static_cast<blasint>(ldc));
}
void gemm(CBLAS_TRANSPOSE transposed, Size rows, Size columns, Size steps, double alpha, const double* a,
          Size lda, const double* b, Size ldb, double* c, Size ldc) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed, static_cast<blasint>(rows),
              static_cast<blasint>(columns), static_cast<blasint>(steps), alpha, a, static_cast<blasint>(lda),
              b, static_cast<blasint>(ldb), 0, c, static_cast<blasint>(ldc));
}

// The first `keys` of a row of `width` become weights, the rest 0. Built with -ffast-math, so that the
// compiler takes vectors and the C library's vector exp.
template <class T>
void softmax(T* row, Size keys, Size width) {
  T most = row[0];
  for (Size j = 1; j < keys; ++j) most = row[j] > most ? row[j] : most;
  T sum = 0;
  for (Size j = 0; j < keys; ++j) {
    row[j] = std::exp(row[j] - most);
    sum += row[j];
  }
  const T factor = 1 / sum;
  for (Size j = 0; j < keys; ++j) row[j] *= factor;
  std::fill(row + keys, row + width, T(0));
}

}  // namespace

template <class T>
void openblas_attention(const T* q, const T* k, const T* v, T* out, T* scratch, Size n, Size d) {
  const T scale = 1 / std::sqrt(static_cast<T>(d));
  for (Size first = 0; first < n; first += openblas_block_rows) {
    const Size rows = std::min(openblas_block_rows, n - first), width = first + rows;
    gemm(CblasTrans, rows, width, d, scale, q + first * d, d, k, d, scratch, width);
    for (Size r = 0; r < rows; ++r) softmax(scratch + r * width, first + r + 1, width);
    gemm(CblasNoTrans, rows, d, width, T(1), scratch, width, v, d, out + first * d, d);
  }
}

template void openblas_attention(const float*, const float*, const float*, float*, float*, Size, Size);
template void openblas_attention(const double*, const double*, const double*, double*, double*, Size, Size);

}  // namespace rapt::bench
