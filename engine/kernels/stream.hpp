// Writes a row of weights past the caches: more of them than a cache holds would push out what is being
// worked on, and each line would be read before it is written.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

namespace rapt::kernels {

/// to[j] for j in [first, last): vector_at(j) where a whole aligned vector lies there, else element_at(j).
template <class T, class Arch, class VectorAt, class ElementAt>
RAPT_INLINE void stream_segment(T* to, Size first, Size last, VectorAt vector_at,
                                ElementAt element_at) noexcept {
  constexpr Size w = width<T, Arch>;
  Size j = first;
  for (; j < last && reinterpret_cast<std::uintptr_t>(to + j) % sizeof(Batch<T, Arch>) != 0; ++j)
    to[j] = element_at(j);
#pragma GCC unroll 2
  for (; j + w <= last; j += w) simd::stream(to + j, vector_at(j));
  for (; j < last; ++j) to[j] = element_at(j);
}

template <class T, class Arch>
void stream_row(const StreamArgs<T>& args) noexcept {
  const Batch<T, Arch> zero = simd::broadcast<Arch>(T(0));
  const auto clear = [&](Size first, Size last) __attribute__((always_inline)) {
    stream_segment<T, Arch>(
        args.to, first, last, [&](Size) __attribute__((always_inline)) { return zero; },
        [](Size) __attribute__((always_inline)) { return T(0); });
  };
  clear(0, args.begin);
  stream_segment<T, Arch>(
      args.to, args.begin,
      args.end, [&](Size j) __attribute__((always_inline)) { return simd::load<Arch>(args.from + j); },
      [&](Size j) __attribute__((always_inline)) { return args.from[j]; });
  clear(args.end, args.count);
}

template <class Arch>
void end_stream() noexcept {
  simd::end_stream();
}

}  // namespace rapt::kernels
