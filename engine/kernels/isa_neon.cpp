#include "kernels/kernel_table.hpp"

namespace rapt::kernels {

constinit const KernelTable neon_kernels{"neon"};

}  // namespace rapt::kernels
