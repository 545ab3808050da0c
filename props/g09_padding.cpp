// G09: padding anywhere changes no real row.
#include <limits>

#include "generators.hpp"
#include "support/fill.hpp"
#include "support/kv_gen.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

using Map = std::vector<std::ptrdiff_t>;  // for each padded index the index before, or -1 for padding

Map identity(std::ptrdiff_t length) {
  Map map(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<std::ptrdiff_t>(i);
  return map;
}

// Padding in seeded places, up to about a third.
Map scattered(std::ptrdiff_t length, std::uint64_t seed) {
  Map map;
  std::uint64_t draw = 0;
  for (std::ptrdiff_t j = 0; j <= length; ++j) {
    while (random_below(seed, 200, draw++, 4) == 0) map.push_back(-1);
    if (j < length) map.push_back(j);
  }
  return map;
}

// Moves the lines of one axis by a map; padding gets `fill`.
template <int N>
Array<N> moved(const Array<N>& array, std::size_t axis, const Map& map, double fill) {
  Array<N> result(array.extents);
  result.extents[axis] = static_cast<std::ptrdiff_t>(map.size());
  result = Array<N>(result.extents, fill);
  std::size_t inner = 1, outer = 1;
  for (std::size_t each = axis + 1; each < N; ++each) inner *= static_cast<std::size_t>(array.extents[each]);
  for (std::size_t each = 0; each < axis; ++each) outer *= static_cast<std::size_t>(array.extents[each]);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t to = 0; to < map.size(); ++to) {
      for (std::size_t i = 0; map[to] >= 0 && i < inner; ++i) {
        const auto from =
            static_cast<std::size_t>(array.extents[axis]) * o + static_cast<std::size_t>(map[to]);
        result.values[(map.size() * o + to) * inner + i] = array.values[from * inner + i];
      }
    }
  }
  return result;
}

// The lines of an axis that a map did not add.
template <int N>
Array<N> without_padding(const Array<N>& array, std::size_t axis, const Map& map) {
  Map back;
  for (std::size_t to = 0; to < map.size(); ++to) {
    if (map[to] >= 0) back.push_back(static_cast<std::ptrdiff_t>(to));
  }
  return moved(array, axis, back, 0);
}

Data padded(const Data& data, const Map& keys, const Map& queries) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Data result = data;
  result.k = moved(data.k, 2, keys, nan);
  result.v = moved(data.v, 2, keys, nan);
  result.q = moved(data.q, 2, queries, nan);
  const Array<2> all_keys({data.k.extents[0], data.k.extents[2]}, 1),
      all_queries({data.q.extents[0], data.q.extents[2]}, 1);
  result.key_mask = moved(data.key_mask.value_or(all_keys), 1, keys, 0);
  result.query_mask = moved(data.query_mask.value_or(all_queries), 1, queries, 0);
  for (std::optional<Array<4>>* array : {&result.attend, &result.bias}) {
    if (*array && (*array)->extents[2] == data.q.extents[2]) *array = moved(**array, 2, queries, 1);
    if (*array && (*array)->extents[3] == data.k.extents[2]) *array = moved(**array, 3, keys, 1);
  }
  return result;
}

void require_real_rows(const Isa& isa, const Data& data, const Answer& expected, const Answer& actual,
                       const Map& keys, const Map& queries) {
  require_same(isa, data, difference("out", expected.out, without_padding(actual.out, 2, queries)));
  require_same(isa, data, difference("lse", *expected.lse, without_padding(*actual.lse, 2, queries)));
  const auto real = [&](const Array<4>& pairs) {
    return without_padding(without_padding(pairs, 2, queries), 3, keys);
  };
  require_same(isa, data, difference("weights", *expected.weights, real(*actual.weights)));
  require_same(isa, data, difference("scores", *expected.scores, real(*actual.scores)));
}

}  // namespace

TEST_CASE("G09 padding anywhere changes no real row") {
  property(
      "scattered through a square causal call, or through the keys of one without a corner, or before all "
      "keys",
      [] {
        Problem problem = *problems();
        problem.key_lengths = false;
        if (problem.causal == Causal::top_left)
          problem.q_len = problem.kv_len = std::min<std::ptrdiff_t>(problem.kv_len, 90);
        const Data data = make_data(problem);
        const std::uint64_t seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
        Map keys = scattered(problem.kv_len, seed), queries = identity(problem.q_len);
        if (problem.causal != Causal::none && problem.q_len == problem.kv_len) queries = keys;
        if (problem.causal == Causal::bottom_right && problem.q_len != problem.kv_len) {
          keys = identity(problem.kv_len);
          keys.insert(keys.begin(), 1 + seed % 40, -1);
        }
        const Data with_padding = padded(data, keys, queries);
        for_each_isa([&](const Isa& isa) {
          require_real_rows(isa, data, run(data, all_outputs), run(with_padding, all_outputs), keys, queries);
        });
      });
}

TEST_CASE("G09 keys beyond key_lengths change no row") {
  property("longer arrays of keys", [] {
    const Data data = make_data(*problems());
    Map keys = identity(data.k.extents[2]);
    keys.insert(keys.end(), static_cast<std::size_t>(*rc::gen::inRange(1, 40)), -1);
    const Map queries = identity(data.q.extents[2]);
    Data longer = padded(data, keys, queries);
    longer.key_mask.reset();
    if (data.key_mask) longer.key_mask = moved(*data.key_mask, 1, keys, 1);
    const Array<1> whole({data.k.extents[0]}, static_cast<double>(data.k.extents[2]));
    longer.key_lengths = data.key_lengths.value_or(whole);
    for_each_isa([&](const Isa& isa) {
      require_real_rows(isa, data, run(data, all_outputs), run(longer, all_outputs), keys, queries);
    });
  });
}

TEST_CASE("G09 padding anywhere in what a cache is given changes no real row") {
  property("scattered through any chunks", [] {
    const Problem problem = *cacheable_problems();
    const Data data = make_data(problem);
    const Map map = scattered(problem.kv_len, *rc::gen::inRange<std::uint64_t>(0, 1000));
    Data with_padding = padded(data, map, map);
    with_padding.query_mask.reset();  // rows of padded tokens are computed, and dropped below
    const Chunks chunks = *gen::chunks_of(std::ssize(map));
    const std::ptrdiff_t capacity = *capacities(problem);
    for_each_isa([&](const Isa& isa) {
      const Answer actual = run_cached(with_padding, chunks, capacity);
      require_same(isa, data, difference("out", run(data).out, without_padding(actual.out, 2, map)));
    });
  });
}
