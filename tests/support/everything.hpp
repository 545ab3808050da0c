// One call of every kind, for tests of what surrounds a call: floating-point modes, locales, processes,
// loaders.
#pragma once

#include <string>

namespace rapt::test {

/// The bytes of what every computing function of the API gives, on numbers among which are subnormal ones.
/// Two calls are large enough to run on several threads. Uses the API only, and no test framework.
std::string everything();

}  // namespace rapt::test
