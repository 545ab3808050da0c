// The header of Catch2 2, for tests that are built with Catch2 3 (tests/CMakeLists.txt puts this folder on
// their path then, and only then). All that differs between the two for the tests stands here.
#pragma once

#include <catch2/catch_all.hpp>

using Catch::Approx;

namespace Catch {

inline auto Contains(const std::string& text) { return Matchers::ContainsSubstring(text); }

}  // namespace Catch
