// RapidCheck's generators of staged problems. Every draw is a valid problem; edges are frequent.
#pragma once

#include <rapidcheck.h>

#include "support/staged_problem.hpp"

namespace rapt::test::gen {

inline rc::Gen<StagedProblem> staged_problem() {
  const auto size = [](int least, int most) {
    return rc::gen::oneOf(rc::gen::just(least), rc::gen::just(most),
                          rc::gen::inRange(least, std::min(least + 12, most) + 1),
                          rc::gen::inRange(least, most + 1));
  };
  return rc::gen::construct<StagedProblem>(
      size(1, 64), size(1, 64), size(0, 32), size(1, 64),
      rc::gen::map(rc::gen::inRange(0, numbers_kinds), [](int kind) { return static_cast<Numbers>(kind); }),
      rc::gen::element(0, 0, 10, 30, 70, 100), rc::gen::inRange<std::uint64_t>(0, 1000000));
}

}  // namespace rapt::test::gen
