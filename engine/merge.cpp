// merge() and alibi_slopes(): small public functions beside attention().
#include <rapt/attention.hpp>

#include <cmath>
#include <limits>

#include "float_mode.hpp"
#include "validate.hpp"

namespace rapt {
namespace {

/// How one row's two parts are weighted. A part with lse -inf is ignored whole, so that its values never
/// matter.
template <class T>
struct PartWeights {
  T w1, w2, lse;
};

template <class T>
PartWeights<T> part_weights(T lse1, T lse2) noexcept {
  constexpr T empty = -std::numeric_limits<T>::infinity();
  if (lse2 == empty) return {T(1), T(0), lse1};
  if (lse1 == empty) return {T(0), T(1), lse2};
  const T larger = lse1 > lse2 || lse1 != lse1 ? lse1 : lse2;
  const T w1 = std::exp(lse1 - larger), w2 = std::exp(lse2 - larger);
  return {w1, w2, larger + std::log(w1 + w2)};
}

template <class T>
void merge_parts(const View<const T, 4>& out1, const View<const T, 3>& lse1, const View<const T, 4>& out2,
                 const View<const T, 3>& lse2, const View<T, 4>& out, const View<T, 3>& lse) {
  const StandardFloatMode mode;
  validate_merge(out1, lse1, out2, lse2, out, lse);
  constexpr T empty = -std::numeric_limits<T>::infinity();
  const auto [batch, n_heads, q_len, v_dim] = out.extents;
  for (std::ptrdiff_t b = 0; b < batch; ++b)
    for (std::ptrdiff_t h = 0; h < n_heads; ++h)
      for (std::ptrdiff_t i = 0; i < q_len; ++i) {
        const bool first_only = lse2(b, h, i) == empty, second_only = lse1(b, h, i) == empty;
        const PartWeights<T> by = part_weights(lse1(b, h, i), lse2(b, h, i));
        for (std::ptrdiff_t j = 0; j < v_dim; ++j) {
          const T a = out1(b, h, i, j), c = out2(b, h, i, j);
          out(b, h, i, j) = first_only && second_only ? T(0)
                            : first_only              ? a
                            : second_only             ? c
                                                      : (a * by.w1 + c * by.w2) / (by.w1 + by.w2);
        }
        lse(b, h, i) = by.lse;
      }
}

template <class T>
void fill_slopes(const View<T, 1>& slopes, double max_bias) {
  const StandardFloatMode mode;
  validate_alibi_slopes(slopes, max_bias);
  const std::ptrdiff_t n_heads = slopes.extents[0];
  std::ptrdiff_t lower = 1;
  while (lower * 2 <= n_heads) lower *= 2;
  for (std::ptrdiff_t h = 0; h < n_heads; ++h) {
    // Beyond the power of two below: the odd ones of twice as many heads.
    const double exponent =
        h < lower ? max_bias * static_cast<double>(h + 1) / static_cast<double>(lower)
                  : max_bias * static_cast<double>(2 * (h - lower) + 1) / static_cast<double>(2 * lower);
    slopes(h) = static_cast<T>(std::exp2(-exponent));
  }
}

}  // namespace

void alibi_slopes(View<float, 1> slopes, double max_bias) { fill_slopes(slopes, max_bias); }
void alibi_slopes(View<double, 1> slopes, double max_bias) { fill_slopes(slopes, max_bias); }

void merge(View<const float, 4> out1, View<const float, 3> lse1, View<const float, 4> out2,
           View<const float, 3> lse2, View<float, 4> out, View<float, 3> lse) {
  merge_parts(out1, lse1, out2, lse2, out, lse);
}
void merge(View<const double, 4> out1, View<const double, 3> lse1, View<const double, 4> out2,
           View<const double, 3> lse2, View<double, 4> out, View<double, 3> lse) {
  merge_parts(out1, lse1, out2, lse2, out, lse);
}

}  // namespace rapt
