// Lists the kernels of one ISA: all that an isa_*.cpp file needs.
#pragma once

#include "kernels/attend.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/merge.hpp"
#include "kernels/multiply.hpp"
#include "kernels/pack.hpp"
#include "kernels/peak.hpp"
#include "kernels/stream.hpp"

namespace rapt::kernels {

template <class T, class Arch>
consteval Kernels<T> make_kernels() noexcept {
  return {.NR = NR<T, Arch>,
          .pack = &pack<T, Arch, T>,
          .multiply_textbook = &multiply<TextbookStep, T, Arch>,
          .multiply_fused = &multiply<FusedStep, T, Arch>,
          .attend = &attend<T, Arch, T>,
          .attend_scratch = 2 * MR * score_stride<T>,
          .fold = &fold<T, Arch>,
          .divide = &divide<T, Arch>,
          .finish_weights = &finish_weights<T, Arch>,
          .stream_row = &stream_row<T, Arch>,
          .end_stream = &end_stream<Arch>,
          .fma_peak = &fma_peak<T, Arch>};
}

template <class Arch>
consteval KernelTable make_table(const char* name) noexcept {
  return {.name = name,
          .f32 = make_kernels<float, Arch>(),
          .f64 = make_kernels<double, Arch>(),
          .attend_bf16 = &attend<float, Arch, bf16>,
          .attend_f16 = &attend<float, Arch, f16>,
          .pack_bf16 = &pack<float, Arch, bf16>,
          .pack_f16 = &pack<float, Arch, f16>};
}

}  // namespace rapt::kernels
