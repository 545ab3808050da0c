// Every refusal of attention(), merge() and alibi_slopes(), by its exact message.
#include "validate.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <rapt/error.hpp>
#include <vector>

using namespace rapt;

namespace {

// A valid call, of which a test spoils one thing. b 2, hq 4, hkv 2, q_len 3, kv_len 5, head_dim 8, v_dim 6.
struct Arguments {
  std::vector<float> memory = std::vector<float>(4096);
  std::array<bool, 4096> flags{};
  std::array<std::ptrdiff_t, 2> lengths{5, 0};
  std::ptrdiff_t used = 0;

  View<const float, 4> q, k, v;
  View<float, 4> out;
  AttentionOptions<float> options;

  Arguments() {
    q = take<4>({2, 4, 3, 8});
    k = take<4>({2, 2, 5, 8});
    v = take<4>({2, 2, 5, 6});
    out = take<4>({2, 4, 3, 6});
  }

  // The next unused elements.
  template <int N>
  View<float, N> take(const std::ptrdiff_t (&extents)[N]) {
    const View<float, N> view = contiguous(memory.data() + used, extents);
    used += extents[0] * view.strides[0];
    return view;
  }

  std::string refusal() const {
    try {
      validate<float, float>(q, k, v, out, options);
    } catch (const invalid_input& error) {
      return error.what();
    }
    return "accepted";
  }
};

View<const bool, 2> mask(const Arguments& a, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  return contiguous(a.flags.data(), {rows, columns});
}

}  // namespace

TEST_CASE("validate: a call with everything is accepted") {
  Arguments a;
  CHECK(a.refusal() == "accepted");
  a.options.scale = -2;
  a.options.causal = Causal::top_left;
  a.options.window = 1;
  a.options.softcap = 0.0F;
  a.options.key_mask = mask(a, 2, 5);
  a.options.query_mask = mask(a, 2, 3);
  a.options.key_lengths = contiguous<const std::ptrdiff_t>(a.lengths.data(), {2});
  a.options.attend = contiguous<const bool>(a.flags.data(), {2, 1, 3, 5});
  a.options.bias = a.take<4>({1, 1, 1, 5});
  a.options.alibi_slopes = a.take<1>({4});
  a.options.weights = a.take<4>({2, 4, 3, 5});
  a.options.scores = a.take<4>({2, 4, 3, 5});
  a.options.lse = a.take<3>({2, 4, 3});
  CHECK(a.refusal() == "accepted");
}

TEST_CASE("validate: shapes of q, k, v and out") {
  const auto spoiled = [](auto spoil) {
    Arguments a;
    spoil(a);
    return a.refusal();
  };
  CHECK(spoiled([](auto& a) { a.q.extents[2] = -1; }) == "q: q_len -1, expected at least 0");
  CHECK(spoiled([](auto& a) { a.q.extents[1] = 0; }) == "q: n_heads 0, expected at least 1");
  CHECK(spoiled([](auto& a) { a.q.extents[3] = 0; }) == "q: head_dim 0, expected at least 1");
  CHECK(spoiled([](auto& a) { a.k.extents[1] = 0; }) == "k: n_kv_heads 0, expected at least 1");
  CHECK(spoiled([](auto& a) { a.v.extents[3] = 0; }) == "v: v_dim 0, expected at least 1");
  CHECK(spoiled([](auto& a) { a.k.extents[0] = 1; }) == "k: batch 1 does not match q: batch 2");
  CHECK(spoiled([](auto& a) { a.q.extents[1] = 3; }) == "k: n_kv_heads 2 does not divide q: n_heads 3");
  CHECK(spoiled([](auto& a) { a.k.extents[3] = 7; }) == "k: head_dim 7 does not match q: head_dim 8");
  CHECK(spoiled([](auto& a) { a.v.extents[0] = 1; }) == "v: batch 1 does not match k: batch 2");
  CHECK(spoiled([](auto& a) { a.v.extents[1] = 1; }) == "v: n_kv_heads 1 does not match k: n_kv_heads 2");
  CHECK(spoiled([](auto& a) { a.v.extents[2] = 4; }) == "v: kv_len 4 does not match k: kv_len 5");
  CHECK(spoiled([](auto& a) { a.out.extents[0] = 1; }) == "out: batch 1 does not match q: batch 2");
  CHECK(spoiled([](auto& a) { a.out.extents[1] = 2; }) == "out: n_heads 2 does not match q: n_heads 4");
  CHECK(spoiled([](auto& a) { a.out.extents[2] = 2; }) == "out: q_len 2 does not match q: q_len 3");
  CHECK(spoiled([](auto& a) { a.out.extents[3] = 8; }) == "out: v_dim 8 does not match v: v_dim 6");
  CHECK(spoiled([](auto& a) { a.q.data = nullptr; }) == "q: its data is null, expected elements");
}

TEST_CASE("validate: batch, q_len or kv_len of 0 is valid, with no data") {
  for (const std::size_t axis : {std::size_t{0}, std::size_t{2}}) {
    Arguments a;
    a.q.extents[axis] = a.out.extents[axis] = 0;
    a.q.data = nullptr;
    a.out.data = nullptr;
    if (axis == 0) a.k.extents[0] = a.v.extents[0] = 0;
    CHECK(a.refusal() == "accepted");
  }
  Arguments a;
  a.k.extents[2] = a.v.extents[2] = 0;
  CHECK(a.refusal() == "accepted");
}

TEST_CASE("validate: numbers") {
  const auto spoiled = [](auto spoil) {
    Arguments a;
    spoil(a.options);
    return a.refusal();
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(spoiled([](auto& o) { o.scale = std::numeric_limits<double>::quiet_NaN(); }) ==
        "scale: nan, expected a finite number");
  CHECK(spoiled([](auto& o) { o.scale = -infinity; }) == "scale: -inf, expected a finite number");
  CHECK(spoiled([](auto& o) { o.scale = 3e38; }) ==
        "scale: 3e+38, expected a finite number times log2 e in single precision");
  CHECK(spoiled([](auto& o) { o.softcap = -0.5F; }) ==
        "softcap: -0.5, expected a finite number of at least 0");
  CHECK(spoiled([](auto& o) { o.softcap = std::numeric_limits<float>::quiet_NaN(); }) ==
        "softcap: nan, expected a finite number of at least 0");
  CHECK(spoiled([](auto& o) { o.softcap = std::numeric_limits<float>::infinity(); }) ==
        "softcap: inf, expected a finite number of at least 0");
  CHECK(spoiled([](auto& o) { o.causal = static_cast<Causal>(7); }) ==
        "causal: 7, expected none, top_left or bottom_right");
  CHECK(spoiled([](auto& o) {
          o.causal = Causal::top_left;
          o.window = 0;
        }) == "window: 0, expected at least 1");
  CHECK(spoiled([](auto& o) { o.window = 4; }) ==
        "window: 4 with causal none, expected causal top_left or bottom_right");
}

TEST_CASE("validate: masks, lengths, bias and slopes") {
  const auto spoiled = [](auto spoil) {
    Arguments a;
    spoil(a);
    return a.refusal();
  };
  CHECK(spoiled([](auto& a) { a.options.key_mask = mask(a, 1, 5); }) ==
        "key_mask: batch 1 does not match q: batch 2");
  CHECK(spoiled([](auto& a) { a.options.key_mask = mask(a, 2, 3); }) ==
        "key_mask: kv_len 3 does not match k: kv_len 5");
  CHECK(spoiled([](auto& a) { a.options.query_mask = mask(a, 1, 3); }) ==
        "query_mask: batch 1 does not match q: batch 2");
  CHECK(spoiled([](auto& a) { a.options.query_mask = mask(a, 2, 5); }) ==
        "query_mask: q_len 5 does not match q: q_len 3");
  CHECK(spoiled([](auto& a) {
          a.options.attend = contiguous<const bool>(a.flags.data(), {2, 4, 3, 4});
        }) == "attend: kv_len 4 does not broadcast to k: kv_len 5");
  CHECK(spoiled([](auto& a) {
          a.options.attend = contiguous<const bool>(a.flags.data(), {2, 2, 3, 5});
        }) == "attend: n_heads 2 does not broadcast to q: n_heads 4");
  CHECK(spoiled([](auto& a) {
          a.options.bias = a.template take<4>({2, 1, 2, 5});
        }) == "bias: q_len 2 does not broadcast to q: q_len 3");
  CHECK(spoiled([](auto& a) {
          a.options.key_lengths = contiguous<const std::ptrdiff_t>(a.lengths.data(), {1});
        }) == "key_lengths: batch 1 does not match q: batch 2");
  CHECK(spoiled([](auto& a) {
          a.lengths[1] = 6;
          a.options.key_lengths = contiguous<const std::ptrdiff_t>(a.lengths.data(), {2});
        }) == "key_lengths: 6 at batch 1, expected 0 to k: kv_len 5");
  CHECK(spoiled([](auto& a) {
          a.lengths[0] = -1;
          a.options.key_lengths = contiguous<const std::ptrdiff_t>(a.lengths.data(), {2});
        }) == "key_lengths: -1 at batch 0, expected 0 to k: kv_len 5");
  CHECK(spoiled([](auto& a) { a.options.alibi_slopes = a.template take<1>({4}); }) ==
        "alibi_slopes: given with causal none, expected causal top_left or bottom_right");
  CHECK(spoiled([](auto& a) {
          a.options.causal = Causal::bottom_right;
          a.options.alibi_slopes = a.template take<1>({3});
        }) == "alibi_slopes: n_heads 3 does not match q: n_heads 4");
}

TEST_CASE("validate: outputs") {
  const auto spoiled = [](auto spoil) {
    Arguments a;
    spoil(a);
    return a.refusal();
  };
  CHECK(spoiled([](auto& a) {
          a.options.weights = a.template take<4>({2, 4, 3, 3});
        }) == "weights: kv_len 3 does not match k: kv_len 5");
  CHECK(spoiled([](auto& a) {
          a.options.scores = a.template take<4>({2, 2, 3, 5});
        }) == "scores: n_heads 2 does not match q: n_heads 4");
  CHECK(spoiled([](auto& a) {
          a.options.lse = a.template take<3>({2, 4, 2});
        }) == "lse: q_len 2 does not match q: q_len 3");
  CHECK(spoiled([](auto& a) { a.out.strides[2] = 0; }) ==
        "out: two of its indices name the same element, expected distinct elements");
  CHECK(spoiled([](auto& a) { a.out.strides[2] = 5; }) ==
        "out: two of its indices name the same element, expected distinct elements");
  CHECK(spoiled([](auto& a) { a.out.data = const_cast<float*>(a.v.data); }) == "out: overlaps v");
  CHECK(spoiled([](auto& a) {
          a.options.lse = a.template take<3>({2, 4, 3});
          a.options.lse->data = a.out.data;
        }) == "lse: overlaps out");
  CHECK(spoiled([](auto& a) { a.q.strides[0] = PTRDIFF_MAX / 2; }) ==
        "q: its extents and strides reach beyond the address space");
  CHECK(spoiled([](auto& a) {
          a.k.extents[2] = a.v.extents[2] = std::ptrdiff_t{1} << 59;
          a.k.strides = a.v.strides = {};
        }) == "k: kv_len 576460752303423488 times q_len 3 for every head does not fit in 63 bits");
}

TEST_CASE("validate: q and out may be the two halves of one interleaved buffer") {
  Arguments a;
  std::vector<float> both(2 * 4 * 3 * 14);
  a.q = {both.data(), {2, 4, 3, 8}, {4 * 3 * 14, 3 * 14, 14, 1}};
  a.out = {both.data() + 8, {2, 4, 3, 6}, {4 * 3 * 14, 3 * 14, 14, 1}};
  CHECK(a.refusal() == "accepted");
  a.out.data -= 1;
  CHECK(a.refusal() == "out: overlaps q");
}

TEST_CASE("validate: merge and alibi_slopes") {
  Arguments a;
  View<float, 4> out1 = a.take<4>({1, 2, 3, 4}), out2 = a.take<4>({1, 2, 3, 4}),
                 out = a.take<4>({1, 2, 3, 4});
  View<float, 3> lse1 = a.take<3>({1, 2, 3}), lse2 = a.take<3>({1, 2, 3}), lse = a.take<3>({1, 2, 3});
  const auto refusal = [&] {
    try {
      validate_merge<float>(out1, lse1, out2, lse2, out, lse);
    } catch (const invalid_input& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal() == "accepted");
  out = out1;
  lse = lse2;
  CHECK(refusal() == "accepted");
  out.data += 1;
  CHECK(refusal() == "out: overlaps out1 without being the same view");
  out = out2;
  lse = {out1.data, lse1.extents, lse1.strides};
  CHECK(refusal() == "lse: overlaps out1");
  lse = lse1;
  lse2.extents[2] = 2;
  CHECK(refusal() == "lse2: q_len 2 does not match out1: q_len 3");
  lse2.extents[2] = 3;
  out.extents[3] = 5;
  CHECK(refusal() == "out: v_dim 5 does not match out1: v_dim 4");

  CHECK_NOTHROW(validate_alibi_slopes<float>(a.take<1>({3}), 8));
  CHECK_THROWS_WITH(validate_alibi_slopes<float>({}, 8), "slopes: n_heads 0, expected at least 1");
  CHECK_THROWS_WITH(validate_alibi_slopes<float>(a.take<1>({3}), std::numeric_limits<double>::infinity()),
                    "max_bias: inf, expected a finite number");
}
