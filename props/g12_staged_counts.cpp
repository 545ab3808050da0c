// G12 for the staged program: the dot products it reports are those of the closed form, and those that the
// plain loops count one by one.
#include <algorithm>

#include "property.hpp"
#include "support/isas.hpp"
#include "support/staged_gen.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE(
    "G12 the staged program reports 4 d + U + t + 1 dot products for generated row t, as counted where they "
    "are made") {
  property("on every ISA", [] {
    const pipeline::Input input = make_input(*gen::staged_problem());
    const std::ptrdiff_t real = std::count(input.mask.begin(), input.mask.end(), 1);
    const std::vector<long> counted = reference::staged(to_reference(input)).dot_products;
    for_each_isa([&](const Isa&) {
      const pipeline::Result result = pipeline::run(input);
      RC_ASSERT(std::ssize(result.dot_products) == input.g);
      for (std::ptrdiff_t t = 0; t < input.g; ++t) {
        const auto at = static_cast<std::size_t>(t);
        RC_ASSERT(result.dot_products[at] == 4 * input.d + real + t + 1);
        RC_ASSERT(result.dot_products[at] == counted[at]);
      }
    });
  });
}
