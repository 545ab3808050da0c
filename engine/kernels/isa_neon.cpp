#include "kernels/table.hpp"

namespace rapt::kernels {

constinit const KernelTable neon_kernels = make_table<xsimd::neon64>("neon");

}  // namespace rapt::kernels
