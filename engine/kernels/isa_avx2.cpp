#include "kernels/table.hpp"

namespace rapt::kernels {

constinit const KernelTable avx2_kernels = make_table<xsimd::fma3<xsimd::avx2>>("avx2");

}  // namespace rapt::kernels
