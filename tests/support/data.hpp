// The numbers of a problem, dense and as doubles (every float, bf16 and f16 is one): what properties change,
// plant NaN in, and compare.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "support/problem.hpp"

namespace rapt::test {

/// A dense row-major array of doubles.
template <int N>
struct Array {
  std::array<std::ptrdiff_t, N> extents{};
  std::vector<double> values;

  Array() = default;
  explicit Array(std::array<std::ptrdiff_t, N> shape, double value = 0) : extents(shape) {
    std::size_t size = 1;
    for (const std::ptrdiff_t extent : shape) size *= static_cast<std::size_t>(extent);
    values.assign(size, value);
  }

  template <class... Index>
  std::size_t offset(Index... index) const {
    static_assert(sizeof...(Index) == N);
    const std::ptrdiff_t at[]{static_cast<std::ptrdiff_t>(index)...};
    std::ptrdiff_t sum = 0;
    for (std::size_t axis = 0; axis < N; ++axis) sum = sum * extents[axis] + at[axis];
    return static_cast<std::size_t>(sum);
  }
  template <class... Index>
  double& operator()(Index... index) {
    return values[offset(index...)];
  }
  template <class... Index>
  double operator()(Index... index) const {
    return values[offset(index...)];
  }
};

/// The arguments of one call. Masks hold 0 or 1. Sizes are those of the arrays; `problem` gives the rest and
/// names the case.
struct Data {
  Problem problem;
  Array<4> q, k, v;
  std::optional<Array<2>> key_mask, query_mask;
  std::optional<Array<1>> key_lengths, alibi_slopes;
  std::optional<Array<4>> attend, bias;
};

Data make_data(const Problem& problem);

/// The nearest number that the type can hold, ties to even.
double rounded_to(Dtype dtype, double value);

/// Whether key j of sequence b is real: key_mask and key_lengths.
bool is_real(const Data& data, std::ptrdiff_t b, std::ptrdiff_t j);

/// What is seen of each (b, h, i, j) by the rules of the masks: 1 or 0, [batch, n_heads, q_len, kv_len].
Array<4> visible_pairs(const Data& data);

}  // namespace rapt::test
