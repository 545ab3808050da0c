#include "kernels/table.hpp"

namespace rapt::kernels {

constinit const KernelTable avx512_kernels = make_table<xsimd::avx512bw>("avx512");

}  // namespace rapt::kernels
