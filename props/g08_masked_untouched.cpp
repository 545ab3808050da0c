// G08: masked means untouched. NaN or huge values behind any mask change nothing; memory behind key_mask and
// key_lengths is never read.
#include <limits>

#include "generators.hpp"
#include "support/fill.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

double poison(Dtype dtype, std::uint64_t draw) {
  const double huge = dtype == Dtype::f64 ? 1e308 : dtype == Dtype::f16 ? 65504 : 0x1.fep127;
  const double kinds[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity(), huge, -huge};
  return kinds[draw % 5];
}

void poison_line(Array<4>& array, std::ptrdiff_t a, std::ptrdiff_t b, std::ptrdiff_t c, Dtype dtype,
                 std::uint64_t draw) {
  for (std::ptrdiff_t u = 0; u < array.extents[3]; ++u) array(a, b, c, u) = poison(dtype, draw);
}

// The same data with poison in about a third of the keys, in masked queries and in every bias that no visible
// pair uses; `spoiled` becomes 1 for rows that see a poisoned key.
Data poisoned(const Data& data, const Array<4>& visible, std::uint64_t seed, Array<3>& spoiled) {
  Data result = data;
  const Dtype dtype = data.problem.dtype, arithmetic = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const std::ptrdiff_t group = data.q.extents[1] / data.k.extents[1];
  Array<3> poisoned_keys({data.k.extents[0], data.k.extents[1], data.k.extents[2]});
  for (std::size_t at = 0; at < poisoned_keys.values.size(); ++at) {
    poisoned_keys.values[at] = random_below(seed, 100, at, 3) == 0;
  }
  for (std::ptrdiff_t b = 0; b < data.k.extents[0]; ++b) {
    for (std::ptrdiff_t hkv = 0; hkv < data.k.extents[1]; ++hkv) {
      for (std::ptrdiff_t j = 0; j < data.k.extents[2]; ++j) {
        if (poisoned_keys(b, hkv, j) == 0) continue;
        poison_line(result.k, b, hkv, j, dtype, random_bits(seed, 101, poisoned_keys.offset(b, hkv, j)) >> 8);
        poison_line(result.v, b, hkv, j, dtype, random_bits(seed, 102, poisoned_keys.offset(b, hkv, j)) >> 8);
      }
    }
  }
  std::optional<Array<4>> used;
  if (data.bias) used.emplace(data.bias->extents);
  for_each_row(data, [&](std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i) {
    if (data.query_mask && (*data.query_mask)(b, i) == 0)
      poison_line(result.q, b, h, i, arithmetic, random_bits(seed, 103, 0));
    for (std::ptrdiff_t j = 0; j < data.k.extents[2]; ++j) {
      if (visible(b, h, i, j) == 0) continue;
      if (poisoned_keys(b, h / group, j) != 0) spoiled(b, h, i) = 1;
      if (!used) continue;
      const auto& [eb, eh, ei, ej] = used->extents;
      (*used)(eb == 1 ? 0 : b, eh == 1 ? 0 : h, ei == 1 ? 0 : i, ej == 1 ? 0 : j) = 1;
    }
  });
  for (std::size_t at = 0; used && at < used->values.size(); ++at) {
    if (used->values[at] == 0) result.bias->values[at] = poison(arithmetic, random_bits(seed, 104, at) >> 8);
  }
  return result;
}

// Makes rows that see poison equal in both, so that the others are compared.
void drop_rows(Answer& answer, const Array<3>& spoiled) {
  for (std::size_t row = 0; row < spoiled.values.size(); ++row) {
    if (spoiled.values[row] == 0) continue;
    const auto clear = [&](std::vector<double>& values) {
      const std::size_t size = values.size() / spoiled.values.size();
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(row * size), size, 0.0);
    };
    clear(answer.out.values);
    clear(answer.weights->values);
    clear(answer.scores->values);
    clear(answer.lse->values);
  }
}

}  // namespace

TEST_CASE(
    "G08 NaN, infinities and huge values behind any mask change no bit of the rows that do not see them") {
  property("poison in K, V, masked queries and unused bias", [] {
    const Data clean = make_data(*problems());
    Array<3> spoiled({clean.q.extents[0], clean.q.extents[1], clean.q.extents[2]});
    const Data dirty =
        poisoned(clean, visible_pairs(clean), *rc::gen::inRange<std::uint64_t>(0, 1000), spoiled);
    for_each_isa([&](const Isa& isa) {
      Answer expected = run(clean, all_outputs), actual = run(dirty, all_outputs);
      drop_rows(expected, spoiled);
      drop_rows(actual, spoiled);
      require_same(isa, clean, difference(expected, actual));
    });
  });
}

TEST_CASE("G08 keys behind key_mask and key_lengths are never read") {
  property("padded keys on pages that cannot be read", [] {
    Problem problem = *problems();
    if (problem.key_mask == Mask::absent && !problem.key_lengths) problem.key_mask = Mask::random;
    const Data data = make_data(problem);
    for_each_isa([&](const Isa& isa) {
      Call call = all_outputs;
      const Answer expected = run(data, call);
      call.layout = Layout::paged;
      call.forbid_padding = true;
      require_same(isa, data, difference(expected, run(data, call)));
    });
  });
}
