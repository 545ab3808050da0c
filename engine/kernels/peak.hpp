// The fma_peak entry: what the FMA units can do when nothing else happens. The yardstick of every share that
// rapt reports.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

namespace rapt::kernels {

template <class T, class Arch>
Size fma_peak(Size iterations) noexcept {
  constexpr int chains = 12;  // four cycles of latency, two units: eight would do, twelve leave room
  Batch<T, Arch> sum[chains];
#pragma GCC unroll 16
  for (int i = 0; i < chains; ++i) sum[i] = simd::broadcast<Arch>(static_cast<T>(i));
  Batch<T, Arch> factor = simd::broadcast<Arch>(T(0.5));
  simd::pin(factor);
#pragma GCC unroll 1
  for (Size n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i) {
      sum[i] = simd::fma(sum[i], factor, factor);
      simd::pin(sum[i]);
    }
  }
  // Used, so that no chain is dropped.
#pragma GCC unroll 16
  for (int i = 0; i < chains; ++i) simd::keep(sum[i]);
  return iterations * chains * width<T, Arch> * 2;
}

}  // namespace rapt::kernels
