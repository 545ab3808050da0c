// Seeded values and masks.
#include "support/data.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "support/fill.hpp"

namespace rapt::test {
namespace {

enum Stream : std::uint64_t {
  q_stream,
  k_stream,
  v_stream,
  bias_stream,
  slope_stream,
  length_stream,
  shape_stream,
  mask_stream,
  special_stream = 400  // masks take every stream of 7, 8 and 9 modulo 16
};

Array<4> uniform(const Problem& problem, Stream stream, std::array<std::ptrdiff_t, 4> shape, double magnitude,
                 Dtype dtype) {
  Array<4> array(shape);
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    array.values[i] = rounded_to(dtype, magnitude * random_unit(problem.seed, stream, i));
  }
  return array;
}

// NaN, infinities, zeros, subnormal and huge numbers in place of one value in p.special.
void plant(const Problem& p, std::uint64_t stream, Dtype dtype, Array<4>& array) {
  const bool f64 = p.dtype == Dtype::f64;
  const double huge = f64 ? 0x1p1000 : 0x1p120, tiny = f64 ? 0x1p-1070 : 0x1p-145;
  const double specials[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0, tiny,
                             -tiny,        huge,     -huge,     1e9, -1e9};
  for (std::size_t at = 0; at < array.values.size(); ++at) {
    const std::uint64_t draw = random_bits(p.seed, special_stream + stream, at);
    if (draw % p.special == 0)
      array.values[at] = rounded_to(dtype, specials[(draw >> 20) % std::size(specials)]);
  }
}

// One line of a mask: a key mask, a query mask, or a row of attend.
void fill_line(Mask mask, std::uint64_t seed, std::uint64_t stream, double* line, std::ptrdiff_t length) {
  const auto size = static_cast<std::uint64_t>(length);
  const std::uint64_t prefix = length == 0 ? 0 : random_below(seed, stream, size + 1, size);
  std::uint64_t left_in_run = 0, run = 0;
  bool value = random_below(seed, stream, size + 2, 2) == 0;
  for (std::uint64_t j = 0; j < size; ++j) {
    if (left_in_run-- == 0) {
      left_in_run = random_below(seed, stream, size + 3 + run++, 300);
      value = !value;
    }
    const std::uint64_t draw = random_below(seed, stream, j, 10);
    line[j] = mask == Mask::all      ? 1
              : mask == Mask::none   ? 0
              : mask == Mask::first  ? j == 0
              : mask == Mask::last   ? j + 1 == size
              : mask == Mask::random ? draw < 7
              : mask == Mask::sparse ? draw < 1
              : mask == Mask::runs   ? value
                                     : j >= prefix;
  }
}

template <int N>
Array<N> make_mask(const Problem& problem, Mask mask, std::uint64_t stream,
                   std::array<std::ptrdiff_t, N> shape) {
  Array<N> array(shape);
  const std::ptrdiff_t length = shape[N - 1];
  for (std::size_t start = 0; start < array.values.size(); start += static_cast<std::size_t>(length)) {
    fill_line(mask, problem.seed, mask_stream + stream + 16 * start, &array.values[start], length);
  }
  return array;
}

// attend and bias broadcast: each axis is whole or 1, by the seed.
std::array<std::ptrdiff_t, 4> broadcast_shape(const Problem& p, std::uint64_t which) {
  std::array<std::ptrdiff_t, 4> shape{p.batch, p.n_heads, p.q_len, p.kv_len};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (random_below(p.seed, shape_stream, 4 * which + axis, 3) == 0) shape[axis] = 1;
  }
  return shape;
}

Array<1> make_lengths(const Problem& p) {
  Array<1> lengths({p.batch});
  for (std::ptrdiff_t b = 0; b < p.batch; ++b) {
    const auto at = static_cast<std::uint64_t>(b);
    const std::uint64_t kind = random_below(p.seed, length_stream, 2 * at, 6),
                        size = static_cast<std::uint64_t>(p.kv_len);
    lengths(b) = static_cast<double>(kind == 0   ? 0
                                     : kind == 1 ? size
                                                 : random_below(p.seed, length_stream, 2 * at + 1, size + 1));
  }
  return lengths;
}

Array<1> make_slopes(const Problem& p) {
  Array<1> slopes({p.n_heads});
  for (std::ptrdiff_t h = 0; h < p.n_heads; ++h) {
    slopes(h) = rounded_to(p.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32,
                           0.5 * random_unit(p.seed, slope_stream, static_cast<std::uint64_t>(h)));
  }
  return slopes;
}

struct Format {
  int digits, least_exponent;  // of a normal number 1.xxx * 2^e
  double largest;
};

}  // namespace

double rounded_to(Dtype dtype, double value) {
  if (dtype == Dtype::f64 || value == 0 || !std::isfinite(value)) return value;
  if (dtype == Dtype::f32) return static_cast<float>(value);
  const Format format = dtype == Dtype::bf16 ? Format{8, -126, 0x1.fep127} : Format{11, -14, 65504};
  const int last = std::max(std::ilogb(value), format.least_exponent) - (format.digits - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  return std::abs(rounded) > format.largest ? std::copysign(HUGE_VAL, value) : rounded;
}

Data make_data(const Problem& p) {
  const Dtype arithmetic = p.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  Data data;
  data.problem = p;
  data.q = uniform(p, q_stream, {p.batch, p.n_heads, p.q_len, p.head_dim}, p.magnitude, arithmetic);
  data.k = uniform(p, k_stream, {p.batch, p.n_kv_heads, p.kv_len, p.head_dim}, p.magnitude, p.dtype);
  data.v = uniform(p, v_stream, {p.batch, p.n_kv_heads, p.kv_len, p.v_dim}, 1, p.dtype);
  if (p.key_mask != Mask::absent) data.key_mask = make_mask<2>(p, p.key_mask, 0, {p.batch, p.kv_len});
  if (p.query_mask != Mask::absent) data.query_mask = make_mask<2>(p, p.query_mask, 1, {p.batch, p.q_len});
  if (p.attend != Mask::absent) data.attend = make_mask<4>(p, p.attend, 2, broadcast_shape(p, 0));
  if (p.bias) data.bias = uniform(p, bias_stream, broadcast_shape(p, 1), 2, arithmetic);
  if (p.key_lengths) data.key_lengths = make_lengths(p);
  if (p.alibi) data.alibi_slopes = make_slopes(p);
  if (p.special != 0) {
    plant(p, 0, arithmetic, data.q);
    plant(p, 1, p.dtype, data.k);
    plant(p, 2, p.dtype, data.v);
    if (data.bias) plant(p, 3, arithmetic, *data.bias);
  }
  return data;
}

bool is_real(const Data& data, std::ptrdiff_t b, std::ptrdiff_t j) {
  if (data.key_lengths && static_cast<double>(j) >= (*data.key_lengths)(b)) return false;
  return !data.key_mask || (*data.key_mask)(b, j) != 0;
}

Array<4> visible_pairs(const Data& data) {
  const std::ptrdiff_t q_len = data.q.extents[2], kv_len = data.k.extents[2];
  Array<4> visible({data.q.extents[0], data.q.extents[1], q_len, kv_len});
  for (std::ptrdiff_t b = 0; b < data.q.extents[0]; ++b) {
    const std::ptrdiff_t length =
        data.key_lengths ? static_cast<std::ptrdiff_t>((*data.key_lengths)(b)) : kv_len;
    for (std::ptrdiff_t i = 0; i < q_len; ++i) {
      if (data.query_mask && (*data.query_mask)(b, i) == 0) continue;
      const Causal causal = data.problem.causal;
      const std::ptrdiff_t limit = causal == Causal::none       ? kv_len - 1
                                   : causal == Causal::top_left ? std::min(i, kv_len - 1)
                                                                : i + length - q_len;
      std::ptrdiff_t counted = 0;
      for (std::ptrdiff_t j = limit; j >= 0; --j) {
        if (!is_real(data, b, j) || counted++ >= data.problem.window.value_or(kv_len)) continue;
        for (std::ptrdiff_t h = 0; h < data.q.extents[1]; ++h) {
          if (data.attend) {
            const auto& [eb, eh, ei, ej] = data.attend->extents;
            if ((*data.attend)(eb == 1 ? 0 : b, eh == 1 ? 0 : h, ei == 1 ? 0 : i, ej == 1 ? 0 : j) == 0)
              continue;
          }
          visible(b, h, i, j) = 1;
        }
      }
    }
  }
  return visible;
}

}  // namespace rapt::test
