// What a TEST_CASE of the ledger is made of.
#pragma once

#include <rapidcheck/catch.h>
#include <catch2/catch.hpp>

#include <string>
#include <utility>

namespace rapt::test {

/// Fails unless `testable` holds in every case that RapidCheck makes; prints how many they were, which
/// tools/property_table reads.
template <class Testable>
void property(const std::string& description, Testable&& testable) {
  constexpr bool verbose = true;
  rc::prop(description, std::forward<Testable>(testable), verbose);
}

}  // namespace rapt::test
