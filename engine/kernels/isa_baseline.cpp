#include "kernels/kernel_table.hpp"

namespace rapt::kernels {

constinit const KernelTable baseline_kernels{"baseline"};

}  // namespace rapt::kernels
