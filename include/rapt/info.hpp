// Versions, and what rapt chose to run on this machine.
#pragma once

#include <rapt/export.hpp>

namespace rapt {

/// The version of rapt, "major.minor.patch". Static storage; never fails.
RAPT_API const char* version() noexcept;

/// The version of the numeric contract of fused arithmetic. Its out, weights and scores change bits only when
/// this number changes. (lse and merge() use the C library's logarithm and exponential.)
RAPT_API int contract_version() noexcept;

/// The name of the ISA whose kernels run: "baseline", "avx2", "avx512" or "neon". The best one that the CPU
/// and the operating system support, or the one that the environment variable RAPT_ISA names. The choice is
/// made once, at the first call that needs it. Throws invalid_input when RAPT_ISA names an ISA that is
/// unknown or cannot run here.
RAPT_API const char* isa();

}  // namespace rapt
