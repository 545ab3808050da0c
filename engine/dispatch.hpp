// Chooses the ISA, once. The only place that asks the CPU what it can do.
#pragma once

#include <vector>

#include "kernels/kernel_table.hpp"

namespace rapt {

/// The kernels that run: the best ISA of this machine, the one RAPT_ISA names, or a test's override.
/// Throws invalid_input when RAPT_ISA is unknown or cannot run here. After the first call: one atomic load.
const kernels::KernelTable& active_kernels();

/// One ISA that was compiled in.
struct Isa {
  const kernels::KernelTable* table;
  const char* features;  // what a CPU must have, in the words of the compile flags
  bool runnable;         // here: by CPU and operating system
  bool has_fma;          // fused arithmetic gives the contract's bits (guarantee G20)
};

/// Every compiled ISA, best first.
const std::vector<Isa>& compiled_isas();

/// Forces an ISA while it lives; for tests and benchmarks that visit every ISA in one process. Not for
/// concurrent use.
class ScopedIsa {
 public:
  explicit ScopedIsa(const kernels::KernelTable& table);
  ~ScopedIsa();
  ScopedIsa(const ScopedIsa&) = delete;
  ScopedIsa& operator=(const ScopedIsa&) = delete;

 private:
  const kernels::KernelTable* previous_;
};

}  // namespace rapt
