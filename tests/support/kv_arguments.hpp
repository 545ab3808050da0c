// The arguments of one operation on a KV cache, drawn from its seed.
#pragma once

#include <limits>
#include <type_traits>

#include "support/fill.hpp"
#include "support/kv_model.hpp"
#include "support/place.hpp"

namespace rapt::test {

template <class S>
using ElementOf = std::conditional_t<std::is_same_v<S, double>, double, float>;

template <class S>
constexpr Dtype dtype_of = std::is_same_v<S, double>  ? Dtype::f64
                           : std::is_same_v<S, float> ? Dtype::f32
                           : std::is_same_v<S, bf16>  ? Dtype::bf16
                                                      : Dtype::f16;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// The arguments of one operation.
template <class S>
struct KvArguments {
  using T = ElementOf<S>;
  Array<4> q, k, v;
  std::optional<Array<2>> mask;
  std::optional<double> scale;
  double softcap = 0;
  std::optional<RopeOptions> rope;

  KvArguments(const KvSetting& setting, const KvOperation& operation) {
    const std::ptrdiff_t len = operation.size;
    const auto draw = [&](std::uint64_t stream, std::array<std::ptrdiff_t, 4> shape) {
      Array<4> array(shape);
      for (std::size_t i = 0; i < array.values.size(); ++i)
        array.values[i] = static_cast<T>(2 * random_unit(operation.seed, stream, i));
      return array;
    };
    q = draw(0, {setting.batch, setting.n_kv_heads * setting.group, len, setting.head_dim});
    k = draw(1, {setting.batch, setting.n_kv_heads, len, setting.head_dim});
    v = draw(2, {setting.batch, setting.n_kv_heads, len, setting.v_dim});
    if (operation.careful) {
      scale = random_unit(operation.seed, 3, 0);
      softcap = random_below(operation.seed, 3, 1, 2) == 0 ? 0 : 1.5;
    }
    if (operation.rotated && setting.head_dim % 2 == 0)
      rope = RopeOptions{.base = random_below(operation.seed, 4, 0, 2) == 0 ? 10000.0 : 7.0,
                         .interleaved = random_below(operation.seed, 4, 1, 2) == 0};
    // A NaN token now and then: it must reach the rows that see it, and be gone once rolled back.
    if (len > 0 && random_below(operation.seed, 5, 0, 8) == 0)
      plant(k, 0, random_below(operation.seed, 5, 1, static_cast<std::uint64_t>(len)));
    if (operation.masked) draw_mask(setting, operation);
  }

  void draw_mask(const KvSetting& setting, const KvOperation& operation) {
    mask.emplace(std::array{setting.batch, operation.size});
    for (std::ptrdiff_t b = 0; b < setting.batch; ++b) {
      const auto kind = random_below(operation.seed, 6, static_cast<std::uint64_t>(b), 5);
      for (std::ptrdiff_t t = 0; t < operation.size; ++t) {
        const auto toss = random_below(operation.seed, 7 + static_cast<std::uint64_t>(b),
                                       static_cast<std::uint64_t>(t), 10);
        const bool real = kind == 0   ? false
                          : kind == 1 ? 2 * t >= operation.size
                          : kind == 2 ? toss < 3
                                      : toss < 8;
        (*mask)(b, t) = real;
        if (!real) plant(k, b, static_cast<std::uint64_t>(t)), plant(v, b, static_cast<std::uint64_t>(t));
      }
    }
  }
  static void plant(Array<4>& array, std::ptrdiff_t b, std::uint64_t t) {
    for (std::ptrdiff_t h = 0; h < array.extents[1]; ++h)
      array(b, h, static_cast<std::ptrdiff_t>(t), 0) = nan_value;
  }
  bool real(std::ptrdiff_t b, std::ptrdiff_t t) const { return !mask || (*mask)(b, t) != 0; }
};

/// Dense typed copies of an operation's arrays.
template <class E, int N>
struct Typed {
  std::vector<E> elements;
  std::vector<std::uint8_t> bytes;  // of bool
  std::array<std::ptrdiff_t, N> extents;

  explicit Typed(const Array<N>& array) : extents(array.extents) {
    for (const double value : array.values) {
      if constexpr (std::is_same_v<E, bool>)
        bytes.push_back(value != 0);
      else
        elements.push_back(encode<E>(value));
    }
  }
  View<const E, N> view() const {
    View<const E, N> view;
    if constexpr (std::is_same_v<E, bool>)
      view.data = reinterpret_cast<const bool*>(bytes.data());
    else
      view.data = elements.data();
    std::ptrdiff_t stride = 1;
    view.extents = extents;
    for (std::size_t axis = N; axis-- > 0; stride *= extents[axis]) view.strides[axis] = stride;
    return view;
  }
};

}  // namespace rapt::test
