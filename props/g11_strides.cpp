// G11: strides do not matter, and nothing outside the views is read or written. Every view ends (or begins)
// at a page that cannot be touched, gaps of inputs hold NaN, and gaps of outputs are checked by the call
// itself.
#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

TEST_CASE("G11 strides do not matter, and nothing outside the views is read or written") {
  property("every layout, between guard pages", [] {
    const Data data = make_data(*problems());
    for_each_isa([&](const Isa& isa) {
      const Answer expected = run(data, all_outputs);
      for (const Layout layout :
           {Layout::dense, Layout::permuted, Layout::gapped, Layout::reversed, Layout::columns}) {
        Call call = all_outputs;
        call.layout = layout;
        call.flush_end = layout == Layout::permuted || layout == Layout::reversed;
        require_same(isa, data, difference(expected, run(data, call)));
      }
    });
  });
}

TEST_CASE("G11 axes may repeat by stride 0") {
  property("equal batch entries and heads, stored once", [] {
    Data data = make_data(*problems());
    for (Array<4>* array : {&data.q, &data.k, &data.v}) {
      const auto line = static_cast<std::size_t>(array->extents[2] * array->extents[3]);
      for (std::size_t at = line; at < array->values.size(); ++at)
        array->values[at] = array->values[at - line];
    }
    for_each_isa([&](const Isa& isa) {
      Call call = all_outputs;
      const Answer expected = run(data, call);
      call.layout = Layout::repeated;
      require_same(isa, data, difference(expected, run(data, call)));
    });
  });
}
