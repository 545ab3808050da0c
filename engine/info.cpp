#include <rapt/info.hpp>

namespace rapt {

const char* version() noexcept { return RAPT_VERSION; }

// Version 1: blocks of 256 keys, 16 (f32) or 8 (f64) lanes, exp2 polynomials of degree 6 and 11.
int contract_version() noexcept { return 1; }

}  // namespace rapt
