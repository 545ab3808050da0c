// Rotary positions. The angle p * base^(-2 i / head_dim) of a far position has no correct digit left when the
// frequency is one double; here it is two, and the sine and cosine are those of both parts of the product.
#include "rope.hpp"

#include <rapt/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "float_mode.hpp"
#include "run.hpp"
#include "shape_text.hpp"
#include "view_checks.hpp"

namespace rapt {
namespace {

// An unevaluated sum hi + lo with |lo| at most half an ulp of hi (Dekker, A Floating-Point Technique for
// Extending the Available Precision, 1971). A product is within 2^-102 relative.
struct DoubleDouble {
  double hi;
  double lo;
};

DoubleDouble normalized(double larger, double smaller) noexcept {
  const double hi = larger + smaller;
  return {hi, smaller - (hi - larger)};
}

DoubleDouble operator*(DoubleDouble a, DoubleDouble b) noexcept {
  const double product = a.hi * b.hi;
  const double error = std::fma(a.hi, b.hi, -product) + (a.hi * b.lo + a.lo * b.hi);
  return normalized(product, error);
}

DoubleDouble power(DoubleDouble x, std::ptrdiff_t exponent) noexcept {
  DoubleDouble result{1.0, 0.0};
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result = result * x;
    x = x * x;
  }
  return result;
}

// base^(-1 / n): one Newton step on x^n * base = 1 from the double result, which doubles its correct digits.
DoubleDouble inverse_root(double base, std::ptrdiff_t n) noexcept {
  const double root = std::pow(base, -1.0 / static_cast<double>(n));
  const DoubleDouble one = power({root, 0.0}, n) * DoubleDouble{base, 0.0};
  const double residual = (one.hi - 1.0) + one.lo;
  return normalized(root, -root * residual / static_cast<double>(n));
}

// Both halves of a 64-bit integer are exact doubles.
DoubleDouble exact(std::int64_t integer) noexcept {
  return normalized(static_cast<double>(integer >> 32) * 0x1p32, static_cast<double>(integer & 0xffffffff));
}

struct Turn {
  double cosine;
  double sine;
};

// The addition theorem over both parts; the C library reduces each part exactly. Below 2^-27 the cosine of lo
// is 1.
Turn turn(DoubleDouble angle) noexcept {
  const double c = std::cos(angle.hi);
  const double s = std::sin(angle.hi);
  const bool tiny = std::fabs(angle.lo) < 0x1p-27;
  const double c_lo = tiny ? 1.0 : std::cos(angle.lo);
  const double s_lo = tiny ? angle.lo : std::sin(angle.lo);
  return {c * c_lo - s * s_lo, s * c_lo + c * s_lo};
}

// Pairs are copied to registers before anything is written, so that out may be x and the loop is still
// vectorised.
template <class T, bool interleaved, bool unit_stride>
void rotate_pairs(const T* x, std::ptrdiff_t x_stride, T* out, std::ptrdiff_t out_stride, const T* cosines,
                  const T* sines, std::ptrdiff_t pairs) noexcept {
  constexpr std::ptrdiff_t block = 64 / sizeof(T);
  const std::ptrdiff_t x_step = unit_stride ? 1 : x_stride;
  const std::ptrdiff_t out_step = unit_stride ? 1 : out_stride;
  const std::ptrdiff_t pair_step = interleaved ? 2 : 1;
  const std::ptrdiff_t partner = interleaved ? 1 : pairs;
  const auto rotate = [&](std::ptrdiff_t i0, std::ptrdiff_t n) {
    T x0[block];
    T x1[block];
    for (std::ptrdiff_t i = 0; i < n; ++i) x0[i] = x[(i0 + i) * pair_step * x_step];
    for (std::ptrdiff_t i = 0; i < n; ++i) x1[i] = x[((i0 + i) * pair_step + partner) * x_step];
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const T c = cosines[i0 + i];
      const T s = sines[i0 + i];
      const T y0 = x0[i] * c - x1[i] * s;
      x1[i] = x1[i] * c + x0[i] * s;
      x0[i] = y0;
    }
    for (std::ptrdiff_t i = 0; i < n; ++i) out[(i0 + i) * pair_step * out_step] = x0[i];
    for (std::ptrdiff_t i = 0; i < n; ++i) out[((i0 + i) * pair_step + partner) * out_step] = x1[i];
  };
  std::ptrdiff_t i = 0;
  for (; i + block <= pairs; i += block) rotate(i, block);
  rotate(i, pairs - i);
}

}  // namespace

void require_rotatable(std::ptrdiff_t head_dim, const RopeOptions& options) {
  if (head_dim < 2 || head_dim % 2 != 0) {
    throw invalid_input("rope: head_dim is " + std::to_string(head_dim) + ", expected even and at least 2");
  }
  if (!(options.base >= 1.0 && std::isfinite(options.base))) {
    throw invalid_input("rope: base is " + number_text(options.base) + ", expected finite and at least 1");
  }
}

template <class T>
RowRotation<T>::RowRotation(std::ptrdiff_t head_dim, const RopeOptions& options) : options_(options) {
  require_rotatable(head_dim, options);
  const auto pairs = static_cast<std::size_t>(head_dim / 2);
  frequencies_.resize(pairs);
  cosines_.resize(pairs);
  sines_.resize(pairs);
  set_frequencies();
}

template <class T>
void RowRotation<T>::set_options(const RopeOptions& options) {
  require_rotatable(2 * std::ssize(frequencies_), options);
  const bool same_base = options.base == options_.base;
  options_ = options;
  if (!same_base) set_frequencies();
}

template <class T>
void RowRotation<T>::set_frequencies() noexcept {
  const DoubleDouble ratio = inverse_root(options_.base, std::ssize(frequencies_));
  DoubleDouble frequency{1.0, 0.0};
  for (Frequency& each : frequencies_) {
    each = {frequency.hi, frequency.lo};
    frequency = frequency * ratio;
  }
  set_angles();
}

template <class T>
void RowRotation<T>::set_angles() noexcept {
  const DoubleDouble position = exact(position_);
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const Turn at = turn(position * DoubleDouble{frequencies_[i].hi, frequencies_[i].lo});
    cosines_[i] = static_cast<T>(at.cosine);
    sines_[i] = static_cast<T>(at.sine);
  }
}

template <class T>
void RowRotation<T>::move_to(std::int64_t position) noexcept {
  if (position == position_) return;
  position_ = position;
  set_angles();
}

template <class T>
void RowRotation<T>::apply(const T* x, std::ptrdiff_t x_stride, T* out,
                           std::ptrdiff_t out_stride) const noexcept {
  const std::ptrdiff_t pairs = std::ssize(frequencies_);
  if (position_ == 0) {  // x0 * 1 - x1 * 0 would lose the sign of a zero, and make an infinity's partner NaN
    for (std::ptrdiff_t u = 0; u < 2 * pairs; ++u) out[u * out_stride] = x[u * x_stride];
    return;
  }
  const bool unit_stride = x_stride == 1 && out_stride == 1;
  const auto rotate = options_.interleaved
                          ? (unit_stride ? rotate_pairs<T, true, true> : rotate_pairs<T, true, false>)
                          : (unit_stride ? rotate_pairs<T, false, true> : rotate_pairs<T, false, false>);
  rotate(x, x_stride, out, out_stride, cosines_.data(), sines_.data(), pairs);
}

template class RowRotation<float>;
template class RowRotation<double>;

namespace {

template <class T>
void rotate_rows(View<const T, 4> x, View<const std::int64_t, 2> positions, View<T, 4> out,
                 const RopeOptions& options) {
  const StandardFloatMode mode;
  const std::ptrdiff_t batch = x.extents[0], n_heads = x.extents[1], len = x.extents[2],
                       head_dim = x.extents[3];
  const Footprint from = footprint("rope: x", {"batch", "n_heads", "len", "head_dim"}, x);
  require_rotatable(head_dim, options);
  if (positions.extents != std::array{batch, len}) {
    throw invalid_input("rope: positions: " + shape_text(positions) + " does not match x: " + shape_text(x));
  }
  if (out.extents != x.extents)
    throw invalid_input("rope: out: " + shape_text(out) + " does not match x: " + shape_text(x));
  const std::array inputs{footprint("rope: positions", {"batch", "len"}, positions), from};
  const std::array outputs{footprint("rope: out", {"batch", "n_heads", "len", "head_dim"}, out)};
  const bool in_place = same_elements(from, outputs[0]);
  require_apart(std::span(inputs).first(in_place ? 1 : 2), outputs);
  if (is_empty(from)) return;

  // An item is a block of positions, so that an angle is computed once for all heads and sequences that stand
  // there. A sine and cosine take the time of some 200 flop.
  constexpr std::ptrdiff_t block = 16;
  const std::ptrdiff_t items = (len + block - 1) / block;
  const double rows = static_cast<double>(batch) * static_cast<double>(len);
  const double cost =
      rows * static_cast<double>(head_dim) * (moved_element_flop * static_cast<double>(n_heads) + 100.0);
  const std::ptrdiff_t slots = worker_slots(items, cost);
  std::vector<RowRotation<T>> rotations(static_cast<std::size_t>(slots), RowRotation<T>(head_dim, options));
  run_items(items, slots, [&](std::ptrdiff_t slot, std::ptrdiff_t item) {
    RowRotation<T>& rotation = rotations[static_cast<std::size_t>(slot)];
    for (std::ptrdiff_t t = item * block; t < std::min(item * block + block, len); ++t) {
      for (std::ptrdiff_t b = 0; b < batch; ++b) {
        rotation.move_to(positions(b, t));
        for (std::ptrdiff_t h = 0; h < n_heads; ++h) {
          rotation.apply(&x(b, h, t, 0), x.strides[3], &out(b, h, t, 0), out.strides[3]);
        }
      }
    }
  });
}

template <class T>
View<const std::int64_t, 2> for_every_sequence(View<const std::int64_t, 1> positions,
                                               const View<const T, 4>& x) noexcept {
  return {positions.data, {x.extents[0], positions.extents[0]}, {0, positions.strides[0]}};
}

}  // namespace

void rope(View<const float, 4> x, View<const std::int64_t, 1> positions, View<float, 4> out,
          const RopeOptions& options) {
  rotate_rows(x, for_every_sequence(positions, x), out, options);
}
void rope(View<const double, 4> x, View<const std::int64_t, 1> positions, View<double, 4> out,
          const RopeOptions& options) {
  rotate_rows(x, for_every_sequence(positions, x), out, options);
}
void rope(View<const float, 4> x, View<const std::int64_t, 2> positions, View<float, 4> out,
          const RopeOptions& options) {
  rotate_rows(x, positions, out, options);
}
void rope(View<const double, 4> x, View<const std::int64_t, 2> positions, View<double, 4> out,
          const RopeOptions& options) {
  rotate_rows(x, positions, out, options);
}

}  // namespace rapt
