#include <rapt/info.hpp>
#include <rapt/version.hpp>

#define RAPT_TEXT_OF(number) #number
#define RAPT_TEXT(number) RAPT_TEXT_OF(number)

namespace rapt {

const char* version() noexcept {
  return RAPT_TEXT(RAPT_VERSION_MAJOR) "." RAPT_TEXT(RAPT_VERSION_MINOR) "." RAPT_TEXT(RAPT_VERSION_PATCH);
}

// Version 1: blocks of 256 keys, 16 (f32) or 8 (f64) lanes, exp2 polynomials of degree 6 and 11.
int contract_version() noexcept { return RAPT_CONTRACT_VERSION; }

}  // namespace rapt
