// G17: a NaN in a visible key, value or query reaches exactly the rows (of a value: the components) that see
// it.
#include <limits>

#include "generators.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

struct Plant {
  int where;  // q, k, v
  std::ptrdiff_t b, head, index, component;
};

Plant some_plant(const Data& data) {
  const int where = *rc::gen::inRange(0, 3);
  const Array<4>& array = where == 0 ? data.q : where == 1 ? data.k : data.v;
  const auto below = [](std::ptrdiff_t end) { return *rc::gen::inRange<std::ptrdiff_t>(0, end); };
  return {where, below(array.extents[0]), below(array.extents[1]), below(array.extents[2]),
          below(array.extents[3])};
}

// Whether the plant reaches a component of out.
bool reaches(const Plant& plant, const Data& data, const Array<4>& visible, std::ptrdiff_t b,
             std::ptrdiff_t h, std::ptrdiff_t i, std::ptrdiff_t component) {
  if (b != plant.b) return false;
  if (plant.where == 0) {
    bool sees_any = false;
    for (std::ptrdiff_t j = 0; j < data.k.extents[2]; ++j) sees_any = sees_any || visible(b, h, i, j) != 0;
    return h == plant.head && i == plant.index && sees_any;
  }
  const std::ptrdiff_t group = data.q.extents[1] / data.k.extents[1];
  if (h / group != plant.head || visible(b, h, i, plant.index) == 0) return false;
  return plant.where == 1 || component == plant.component;
}

}  // namespace

TEST_CASE("G17 a NaN reaches exactly the rows that see it") {
  property("one NaN in q, k or v", [] {
    Problem problem = *problems();
    problem.q_len = std::max<std::ptrdiff_t>(problem.q_len, 1);
    problem.kv_len = std::max<std::ptrdiff_t>(problem.kv_len, 1);
    const Data data = make_data(problem);
    const Array<4> visible = visible_pairs(data);
    const Plant plant = some_plant(data);
    Data planted = data;
    Array<4>& array = plant.where == 0 ? planted.q : plant.where == 1 ? planted.k : planted.v;
    array(plant.b, plant.head, plant.index, plant.component) = std::numeric_limits<double>::quiet_NaN();
    const Answer defined = define(planted, all_outputs);
    for_each_isa([&](const Isa& isa) {
      Answer expected = run(data);
      const Answer actual = run(planted, all_outputs);
      for_each_row(data, [&](std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i) {
        for (std::ptrdiff_t component = 0; component < data.v.extents[3]; ++component) {
          if (!reaches(plant, data, visible, b, h, i, component)) continue;
          expected.out(b, h, i, component) = std::numeric_limits<double>::quiet_NaN();
        }
      });
      require_same(isa, data, difference("out", expected.out, actual.out));
      if (isa.has_fma) require_same(isa, data, difference(defined, actual));
    });
  });
}
