// Whether views share memory, against a plain list of every byte.
#include "aliasing.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "support/fill.hpp"

using namespace rapt;

namespace {

char memory[4096];

Footprint view_of(std::ptrdiff_t offset, std::ptrdiff_t element_size, std::array<std::ptrdiff_t, 3> extents,
                  std::array<std::ptrdiff_t, 3> strides) {
  Footprint view{.data = memory + offset, .rank = 3, .element_size = element_size};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    view.extents[axis] = extents[axis];
    view.strides[axis] = strides[axis];
  }
  static_cast<void>(find_range(view));
  return view;
}

// Every byte; repeats are lost, so elements * size bytes are expected.
std::set<const char*> bytes_of(const Footprint& view) {
  std::set<const char*> bytes;
  for (std::ptrdiff_t a = 0; a < view.extents[0]; ++a) {
    for (std::ptrdiff_t b = 0; b < view.extents[1]; ++b) {
      for (std::ptrdiff_t c = 0; c < view.extents[2]; ++c) {
        for (std::ptrdiff_t byte = 0; byte < view.element_size; ++byte) {
          bytes.insert(static_cast<const char*>(view.data) + a * view.strides[0] + b * view.strides[1] +
                       c * view.strides[2] + byte);
        }
      }
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("aliasing: random views share memory exactly when a byte is in both") {
  const auto draw = [](std::uint64_t seed, std::uint64_t index, std::ptrdiff_t low, std::ptrdiff_t high) {
    return low + static_cast<std::ptrdiff_t>(
                     test::random_below(seed, 0, index, static_cast<std::uint64_t>(high - low + 1)));
  };
  int overlaps = 0, repeats = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    std::array<Footprint, 2> views;
    for (std::uint64_t which = 0; which < 2; ++which) {
      const std::uint64_t at = which * 8;
      const std::ptrdiff_t size = std::ptrdiff_t{1} << draw(seed, at, 0, 3);
      views[which] = view_of(1024 + size * draw(seed, at + 1, 0, 12), size,
                             {draw(seed, at + 2, 0, 4), draw(seed, at + 3, 1, 4), draw(seed, at + 4, 1, 5)},
                             {size * draw(seed, at + 5, -20, 20), size * draw(seed, at + 6, -9, 9),
                              size * draw(seed, at + 7, -3, 3)});
    }
    const std::set<const char*> a = bytes_of(views[0]), b = bytes_of(views[1]);
    bool shared = false;
    for (const char* byte : a) shared = shared || b.count(byte) != 0;
    const Footprint& view = views[0];
    const auto elements = static_cast<std::size_t>(view.extents[0] * view.extents[1] * view.extents[2]);
    const bool repeated = a.size() != elements * static_cast<std::size_t>(view.element_size);
    CAPTURE(seed);
    if (overlap(views[0], views[1]) != shared) FAIL("overlap");
    if (overlap(views[1], views[0]) != shared) FAIL("overlap, the other way");
    if (repeats_elements(view) != repeated) FAIL("repeats_elements");
    overlaps += shared ? 1 : 0;
    repeats += repeated ? 1 : 0;
  }
  CHECK(overlaps > 500);
  CHECK(overlaps < 3500);
  CHECK(repeats > 500);
  CHECK(repeats < 3500);
}

TEST_CASE("aliasing: interleaved halves of one buffer are apart, huge spans are not addressable") {
  const Footprint left = view_of(0, 4, {1, 16, 8}, {1024, 64, 4}),
                  right = view_of(32, 4, {1, 16, 8}, {1024, 64, 4});
  CHECK_FALSE(overlap(left, right));
  CHECK(overlap(left, view_of(28, 4, {1, 16, 8}, {1024, 64, 4})));
  const auto is_addressable = [](Footprint view) { return find_range(view); };
  CHECK(is_addressable(left));
  CHECK_FALSE(is_addressable(view_of(0, 4, {1, 3, 8}, {0, PTRDIFF_MAX / 4, 4})));
  CHECK_FALSE(is_addressable(view_of(0, 4, {1, 2, 8}, {0, PTRDIFF_MIN, 4})));
  CHECK_FALSE(is_addressable(view_of(0, 4, {1, -1, 8}, {0, 4, 4})));
  CHECK_FALSE(is_addressable(view_of(0, 4, {1, PTRDIFF_MIN, 8}, {0, 4, 4})));
  CHECK(is_addressable(view_of(0, 4, {1, 0, 8}, {0, PTRDIFF_MIN, 4})));
}

TEST_CASE("aliasing: the quick look at a view's range finds what the careful one does") {
  constexpr std::ptrdiff_t edge = std::ptrdiff_t{1} << 29;
  constexpr std::array extents{std::ptrdiff_t{0}, std::ptrdiff_t{1}, std::ptrdiff_t{3},  edge,       edge + 1,
                               edge * edge,       PTRDIFF_MAX,       std::ptrdiff_t{-1}, PTRDIFF_MIN};
  constexpr std::array strides{
      std::ptrdiff_t{0}, std::ptrdiff_t{8}, std::ptrdiff_t{-8}, edge - 1,   edge, -edge,
      -edge - 1,         edge * edge,       PTRDIFF_MAX,        PTRDIFF_MIN};
  int ranges = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    Footprint quick{.data = memory, .rank = 1 + test::random_below(seed, 0, 0, 4), .element_size = 8};
    for (std::size_t axis = 0; axis < quick.rank; ++axis) {
      quick.extents[axis] = extents[test::random_below(seed, 1, axis, extents.size())];
      quick.strides[axis] = strides[test::random_below(seed, 2, axis, strides.size())];
    }
    Footprint careful = quick;
    const bool found = find_any_range(careful);
    REQUIRE(find_range(quick) == found);
    REQUIRE((quick.range.begin == careful.range.begin && quick.range.end == careful.range.end));
    ranges += found;
  }
  CHECK(ranges > 1000);
  CHECK(ranges < 19000);
}
