#include "kernels/kernel_table.hpp"

namespace rapt::kernels {

constinit const KernelTable avx2_kernels{"avx2"};

}  // namespace rapt::kernels
