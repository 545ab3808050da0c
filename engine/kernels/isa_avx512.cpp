#include "kernels/kernel_table.hpp"

namespace rapt::kernels {

constinit const KernelTable avx512_kernels{"avx512"};

}  // namespace rapt::kernels
