#include "kernels/table.hpp"

namespace rapt::kernels {

constinit const KernelTable baseline_kernels = make_table<xsimd::sse2>("baseline");

}  // namespace rapt::kernels
