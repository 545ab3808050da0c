// Rotary positions row by row: what rope() loops over and what a KV cache calls on append.
#pragma once

#include <rapt/embedding.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rapt {

/// Throws invalid_input when head_dim is not even and positive, or base is below 1 or not finite.
void require_rotatable(std::ptrdiff_t head_dim, const RopeOptions& options);

/// The rotation of one row at one position. Allocates when made and never again.
template <class T>
class RowRotation {
 public:
  /// Stands at position 0. Throws what require_rotatable() throws.
  RowRotation(std::ptrdiff_t head_dim, const RopeOptions& options);

  /// Changes base and pairing; the position is kept. Throws as the constructor does, and then changes
  /// nothing.
  void set_options(const RopeOptions& options);

  /// Stands at another position: one sine and cosine for each pair, none when it stands there already.
  void move_to(std::int64_t position) noexcept;

  /// Rotates a row: element u is x[u * x_stride], and out likewise. out may be x when the strides are equal.
  void apply(const T* x, std::ptrdiff_t x_stride, T* out, std::ptrdiff_t out_stride) const noexcept;

 private:
  void set_frequencies() noexcept;
  void set_angles() noexcept;

  // A frequency base^(-2 i / head_dim) as an unevaluated sum: about 100 bits.
  struct Frequency {
    double hi;
    double lo;
  };

  RopeOptions options_;
  std::int64_t position_ = 0;
  std::vector<Frequency> frequencies_;  // [head_dim / 2]
  std::vector<T> cosines_;              // [head_dim / 2]
  std::vector<T> sines_;                // [head_dim / 2]
};

extern template class RowRotation<float>;
extern template class RowRotation<double>;

}  // namespace rapt
