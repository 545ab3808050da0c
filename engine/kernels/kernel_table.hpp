// The kernels of one ISA as data: what the engine calls, and the contract of each entry.
#pragma once

namespace rapt::kernels {

struct KernelTable {
  const char* name;
};

#if defined(__x86_64__)
extern const KernelTable baseline_kernels;
extern const KernelTable avx2_kernels;
extern const KernelTable avx512_kernels;
#elif defined(__aarch64__)
extern const KernelTable neon_kernels;
#endif

}  // namespace rapt::kernels
