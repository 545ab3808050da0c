// Causal attention as a careful user writes it on a BLAS: the peer of bench_openblas.
#pragma once

#include <cstddef>

namespace rapt::bench {

/// One head, causal: q, k, v, out [n, d]. For each block of rows: one GEMM for the scores of the keys up to
/// it, a softmax, one GEMM with the values. scratch holds openblas_block_rows * n numbers.
template <class T>
void openblas_attention(const T* q, const T* k, const T* v, T* out, T* scratch, std::ptrdiff_t n,
                        std::ptrdiff_t d);

inline constexpr std::ptrdiff_t openblas_block_rows = 128;

}  // namespace rapt::bench
