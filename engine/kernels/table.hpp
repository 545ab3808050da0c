// Lists the kernels of one ISA: all that an isa_*.cpp file needs.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/multiply.hpp"
#include "kernels/pack.hpp"
#include "kernels/peak.hpp"

namespace rapt::kernels {

template <class T, class Arch>
consteval Kernels<T> make_kernels() noexcept {
  return {.NR = NR<T, Arch>,
          .MR = MR,
          .pack = &pack<T, Arch>,
          .multiply_textbook = &multiply<TextbookStep, T, Arch>,
          .multiply_fused = &multiply<FusedStep, T, Arch>,
          .fma_peak = &fma_peak<T, Arch>};
}

template <class Arch>
consteval KernelTable make_table(const char* name) noexcept {
  return {.name = name, .f32 = make_kernels<float, Arch>(), .f64 = make_kernels<double, Arch>()};
}

}  // namespace rapt::kernels
