// Every refusal of a KV cache, in words; and that a refused call changes nothing.
#include <rapt/error.hpp>
#include <rapt/kv_cache.hpp>

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

using namespace rapt;

namespace {

using Size = std::ptrdiff_t;
using Shape = const Size (&)[4];

/// Ones of any shape; out is 7 everywhere.
struct Arrays {
  std::vector<float> q, k, v, out;
  View<float, 4> q_view, k_view, v_view, out_view;

  Arrays(Shape q_shape, Shape k_shape, Shape v_shape, Shape out_shape) {
    q_view = make(q, q_shape, 1), k_view = make(k, k_shape, 1), v_view = make(v, v_shape, 1);
    out_view = make(out, out_shape, 7);
  }
  static View<float, 4> make(std::vector<float>& values, Shape shape, float value) {
    values.assign(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]), value);
    return contiguous(values.data(), {shape[0], shape[1], shape[2], shape[3]});
  }
};

/// batch 2, 2 KV heads, head_dim 4, v_dim 3, capacity 8; 4 query heads, 2 tokens.
struct Valid : Arrays {
  KvCache cache{{.batch = 2, .n_kv_heads = 2, .head_dim = 4, .v_dim = 3, .capacity = 8}};
  Valid() : Arrays({2, 4, 2, 4}, {2, 2, 2, 4}, {2, 2, 2, 3}, {2, 4, 2, 3}) {}
};

template <class Function>
std::string refusal(Function function) {
  try {
    function();
  } catch (const invalid_input& error) {
    return error.what();
  }
  return "not refused";
}

std::string append(KvCache& cache, const Arrays& a, const KvAppendOptions& options = {}) {
  return refusal(
      [&] { cache.append(View<const float, 4>(a.k_view), View<const float, 4>(a.v_view), options); });
}
std::string attend(KvCache& cache, const Arrays& a, const KvAttendOptions& options = {}) {
  return refusal([&] {
    cache.attend(View<const float, 4>(a.q_view), View<const float, 4>(a.k_view),
                 View<const float, 4>(a.v_view), a.out_view, options);
  });
}
std::string query(const KvCache& cache, const Arrays& a, const KvQueryOptions& options = {}) {
  return refusal([&] { cache.query(View<const float, 4>(a.q_view), a.out_view, options); });
}
std::string made(const KvCacheOptions& options) {
  return refusal([&] { KvCache cache(options); });
}

void check_unchanged(const Valid& valid) {
  CHECK(valid.cache.length(0) == 0);
  CHECK(valid.cache.length(1) == 0);
  CHECK(valid.out == std::vector<float>(valid.out.size(), 7));
}

}  // namespace

TEST_CASE("a cache refuses options out of range") {
  CHECK(made({.batch = -1}) == "batch: -1, expected at least 0");
  CHECK(made({.n_kv_heads = 0}) == "n_kv_heads: 0, expected at least 1");
  CHECK(made({.head_dim = 0}) == "head_dim: 0, expected at least 1");
  CHECK(made({.v_dim = 0}) == "v_dim: 0, expected at least 1");
  CHECK(made({.capacity = 0}) == "capacity: 0, expected at least 1");
  CHECK(made({.dtype = static_cast<KvDtype>(9)}) == "dtype: 9, expected f32, f64, bf16 or f16");
  CHECK(made({.capacity = 4, .window = 0}) == "window: 0, expected at least 1");
  CHECK(made({.capacity = 4, .window = 5}) == "window: 5, expected at most capacity 4");
  CHECK(made({.batch = 0}) == "not refused");
  CHECK_THROWS_AS(KvCache({.head_dim = 1 << 20, .capacity = PTRDIFF_MAX / 4}), std::bad_alloc);
  CHECK_THROWS_AS(kv_cache_bytes({.head_dim = 1 << 20, .capacity = PTRDIFF_MAX / 4}), std::bad_alloc);
}

TEST_CASE("a cache refuses shapes that do not match it") {
  Valid valid;
  CHECK(append(valid.cache, Arrays({0, 0, 0, 0}, {3, 2, 2, 4}, {2, 2, 2, 3}, {0, 0, 0, 0})) ==
        "k: batch 3 does not match cache: batch 2");
  CHECK(append(valid.cache, Arrays({0, 0, 0, 0}, {2, 1, 2, 4}, {2, 2, 2, 3}, {0, 0, 0, 0})) ==
        "k: n_kv_heads 1 does not match cache: n_kv_heads 2");
  CHECK(append(valid.cache, Arrays({0, 0, 0, 0}, {2, 2, 2, 5}, {2, 2, 2, 3}, {0, 0, 0, 0})) ==
        "k: head_dim 5 does not match cache: head_dim 4");
  CHECK(append(valid.cache, Arrays({0, 0, 0, 0}, {2, 2, 2, 4}, {2, 2, 2, 4}, {0, 0, 0, 0})) ==
        "v: v_dim 4 does not match cache: v_dim 3");
  CHECK(append(valid.cache, Arrays({0, 0, 0, 0}, {2, 2, 2, 4}, {2, 2, 1, 3}, {0, 0, 0, 0})) ==
        "v: kv_len 1 does not match k: kv_len 2");
  CHECK(attend(valid.cache, Arrays({2, 4, 1, 4}, {2, 2, 2, 4}, {2, 2, 2, 3}, {2, 4, 1, 3})) ==
        "q: q_len 1 does not match k: kv_len 2");
  CHECK(attend(valid.cache, Arrays({2, 3, 2, 4}, {2, 2, 2, 4}, {2, 2, 2, 3}, {2, 3, 2, 3})) ==
        "q: n_heads 3 is not a multiple of cache: n_kv_heads 2");
  CHECK(query(valid.cache, Arrays({2, 0, 2, 4}, {0, 0, 0, 0}, {0, 0, 0, 0}, {2, 0, 2, 3})) ==
        "q: n_heads 0, expected at least 1");
  CHECK(query(valid.cache, Arrays({2, 4, 2, 3}, {0, 0, 0, 0}, {0, 0, 0, 0}, {2, 4, 2, 3})) ==
        "q: head_dim 3 does not match cache: head_dim 4");
  CHECK(query(valid.cache, Arrays({2, 4, 2, 4}, {0, 0, 0, 0}, {0, 0, 0, 0}, {2, 4, 2, 4})) ==
        "out: v_dim 4 does not match cache: v_dim 3");
  check_unchanged(valid);
}

TEST_CASE("a cache refuses masks, numbers and rotations that it cannot use") {
  Valid valid;
  const bool mask[6]{};
  const View<const bool, 2> long_mask = contiguous<const bool>(mask, {2, 3});
  CHECK(append(valid.cache, valid, {.key_mask = long_mask}) ==
        "key_mask: kv_len 3 does not match k: kv_len 2");
  CHECK(attend(valid.cache, valid, {.key_mask = long_mask}) ==
        "key_mask: kv_len 3 does not match k: kv_len 2");
  CHECK(query(valid.cache, valid, {.query_mask = long_mask}) ==
        "query_mask: q_len 3 does not match q: q_len 2");
  CHECK(attend(valid.cache, valid, {.scale = std::numeric_limits<double>::infinity()}) ==
        "scale: inf, expected a finite number");
  CHECK(query(valid.cache, valid, {.scale = -1e300}) ==
        "scale: -1e+300, expected a finite number times log2 e in single precision");
  CHECK(query(valid.cache, valid, {.softcap = -1}) ==
        "softcap: -1, expected a finite number of at least 0 in single precision");
  CHECK(query(valid.cache, valid, {.softcap = 1e300}) ==
        "softcap: 1e+300, expected a finite number of at least 0 in single precision");
  CHECK(query(valid.cache, valid, {.softcap = 1e-300}) ==
        "softcap: 1e-300, expected a finite number of at least 0 in single precision");
  CHECK(append(valid.cache, valid, {.rope = RopeOptions{.base = 0.5}}) ==
        "rope: base is 0.5, expected finite and at least 1");
  KvCache odd({.head_dim = 3, .capacity = 2});
  Arrays a({1, 1, 1, 3}, {1, 1, 1, 3}, {1, 1, 1, 3}, {1, 1, 1, 3});
  CHECK(attend(odd, a, {.rope = RopeOptions{}}) == "rope: head_dim is 3, expected even and at least 2");
  check_unchanged(valid);
}

TEST_CASE("a cache refuses elements of another type") {
  Valid valid;
  KvCache wide({.dtype = KvDtype::f64}), half({.dtype = KvDtype::f16});
  const double x[1]{};
  const bf16 y[1]{};
  const View<const double, 4> f64 = contiguous<const double>(x, {1, 1, 1, 1});
  const View<const bf16, 4> other = contiguous<const bf16>(y, {1, 1, 1, 1});
  CHECK(append(wide, valid) == "k: f32 for a cache of f64, expected f64");
  CHECK(query(wide, valid) == "q: f32 for a cache of f64, expected f64");
  CHECK(refusal([&] { valid.cache.append(f64, f64); }) == "k: f64 for a cache of f32, expected f32");
  CHECK(refusal([&] { half.append(other, other); }) == "k: bf16 for a cache of f16, expected f32 or f16");
  double row[1];
  float narrow_row[1];
  const float z[1]{};
  const View<const float, 4> q = contiguous<const float>(z, {1, 1, 1, 1});
  const View<const f16, 4> f16s{};
  KvCache brain({.dtype = KvDtype::bf16});
  CHECK(refusal([&] {
          brain.attend(q, f16s, f16s, contiguous(narrow_row, {1, 1, 1, 1}));
        }) == "k: f16 for a cache of bf16, expected f32 or bf16");
  CHECK(refusal([&] {
          half.attend(f64, f64, f64, contiguous(row, {1, 1, 1, 1}));
        }) == "q: f64 for a cache of f16, expected f32");
  CHECK(refusal([&] {
          half.keys(0, contiguous(row, {1, 0, 1}));
        }) == "out: f64 for a cache of f16, expected f32");
}

TEST_CASE("an output that shares memory with an input or itself is refused") {
  Valid valid;
  valid.out_view.data = valid.q_view.data;
  CHECK(query(valid.cache, valid) == "out: overlaps q");
  Valid folded;
  folded.out_view.strides[1] = 0;
  CHECK(attend(folded.cache, folded) ==
        "out: two of its indices name the same element, expected distinct elements");
}

TEST_CASE("more tokens than the capacity are refused without a window") {
  Valid valid;
  for (int i = 0; i < 3; ++i) CHECK(append(valid.cache, valid) == "not refused");
  const bool mask[4]{true, true, true, false};
  CHECK(append(valid.cache, valid, {.key_mask = contiguous<const bool>(mask, {2, 2})}) == "not refused");
  CHECK(append(valid.cache, valid) ==
        "k: 2 tokens do not fit sequence 0: length 8, capacity 8 without a window");
  CHECK(valid.cache.length(0) == 8);
  CHECK(valid.cache.length(1) == 7);
}

TEST_CASE("sizes that no counter and no memory hold are refused") {
  constexpr Size most = PTRDIFF_MAX / 8;  // rows of a view
  const float one[1]{1};
  float out[1]{7};
  const auto rows = [&](Size len) { return View<const float, 4>{one, {1, 1, len, 1}, {}}; };
  KvCache ring({.capacity = 64, .window = 64});
  ring.append(rows(most), rows(most));
  ring.append(rows(most), rows(most));
  CHECK(refusal([&] { ring.append(rows(2), rows(2)); }) == "k: 2 tokens make sequence 0 too long to count");
  CHECK(ring.length(0) == 2 * most);
  CHECK(refusal([&] {
          ring.query(rows(most), View<float, 4>{out, {1, 1, most, 1}, {}});
        }) == "q: q_len " + std::to_string(most) +
                  " times its visible keys for every head does not fit in 63 bits");
  CHECK(out[0] == 7);
  CHECK_THROWS_AS(KvCache({.head_dim = 64, .capacity = Size{1} << 45}), std::bad_alloc);
  CHECK_THROWS_AS(KvCache({.head_dim = Size{1} << 52, .capacity = 1}), std::bad_alloc);
  // A counterexample: rounding it up to whole vectors overflowed.
  CHECK_THROWS_AS(KvCache({.head_dim = 1, .v_dim = PTRDIFF_MAX}), std::bad_alloc);
}

TEST_CASE("rows whose keys are gone, and lengths that cannot be had again, are refused with what is needed") {
  KvCache cache({.head_dim = 4, .v_dim = 3, .capacity = 4, .window = 3});
  Arrays chunk({1, 1, 2, 4}, {1, 1, 7, 4}, {1, 1, 7, 3}, {1, 1, 2, 3});
  REQUIRE(append(cache, chunk) == "not refused");
  CHECK(cache.positions(0).begin == 3);
  CHECK(query(cache, chunk) == "not refused");
  Arrays three({1, 1, 3, 4}, {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 3, 3});
  CHECK(query(cache, three) ==
        "q: row 0 of sequence 0 is at position 4 and needs the keys from position 2 on, the first held is 3");
  const bool mask[3]{false, true, true};
  CHECK(query(cache, three, {.query_mask = contiguous<const bool>(mask, {1, 3})}) == "not refused");

  CHECK(refusal([&] { cache.rollback(8); }) == "rollback: length 8 of sequence 0, expected 0 or 5 to 7");
  CHECK(refusal([&] { cache.rollback(4); }) == "rollback: length 4 of sequence 0, expected 0 or 5 to 7");
  cache.rollback(5);
  CHECK(cache.positions(0).begin == 3);
  CHECK(cache.length(0) == 5);

  // A padded row stands where the last token before it stands, whose window reaches one position further
  // back.
  Arrays step({1, 1, 1, 4}, {1, 1, 1, 4}, {1, 1, 1, 3}, {1, 1, 1, 3});
  CHECK(attend(cache, step, {.key_mask = contiguous<const bool>(mask, {1, 1})}) ==
        "q: row 0 of sequence 0 is at position 4 and needs the keys from position 2 on, the first held is 3");
  CHECK(attend(cache, step) == "not refused");
  cache.rollback(0);
  CHECK(cache.positions(0).begin == 0);
  CHECK(refusal([&] { cache.rollback(1); }) == "rollback: length 1 of sequence 0, expected 0 to 0");
}

TEST_CASE("a rollback of several sequences is all or none") {
  Valid valid;
  REQUIRE(append(valid.cache, valid) == "not refused");
  const std::vector<Size> lengths{1, 3}, few{1};
  CHECK(refusal([&] { valid.cache.rollback(lengths); }) ==
        "rollback: length 3 of sequence 1, expected 0 to 2");
  CHECK(valid.cache.length(0) == 2);
  CHECK(refusal([&] { valid.cache.rollback(few); }) == "rollback: 1 lengths, expected batch 2");
}

TEST_CASE("sequences that are not there are refused") {
  Valid valid;
  float row[1];
  CHECK(refusal([&] { valid.cache.length(2); }) == "b: 2, expected a sequence from 0 to 1");
  CHECK(refusal([&] { valid.cache.copy_sequence(-1, 0); }) == "source: -1, expected a sequence from 0 to 1");
  CHECK(refusal([&] { valid.cache.copy_sequence(0, 2); }) == "target: 2, expected a sequence from 0 to 1");
  CHECK(refusal([&] {
          valid.cache.values(0, contiguous(row, {2, 1, 3}));
        }) == "out: held 1 does not match cache: held 0");
}

TEST_CASE("a query whose first key has left the ring is refused from position 0 on") {
  // A schedule of G10 found its model to allow this: the window of row 0 begins at 0, and 1 is the first
  // held.
  KvCache cache({.batch = 1, .n_kv_heads = 1, .head_dim = 2, .capacity = 1, .window = 1});
  std::vector<float> rows(4, 1), out(4, 7);
  const View<const float, 4> tokens = contiguous<const float>(rows.data(), {1, 1, 2, 2});
  cache.append(tokens, tokens);
  CHECK_THROWS_WITH(cache.query(tokens, contiguous(out.data(), {1, 1, 2, 2})),
                    Catch::Contains("needs the keys from position 0 on, the first held is 1"));
  CHECK(out == std::vector<float>(4, 7));
}
