// The scores of one row made ready for softmax the careful way: softcap, bias, ALiBi, the general mask,
// hidden keys, and the scores asked for as a by-product (steps 2, 7 and 8 of the numeric contract). Plain
// causal attention passes by here only for a row with an infinite or NaN y.
#pragma once

#include "kernels/exp.hpp"
#include "kernels/score.hpp"

namespace rapt::kernels {

/// Which keys a row sees in a block: those offered and not hidden.
struct SeenKeys {
  Size visible;           // offered and let through by `attend`
  Size count;             // of those, not hidden by a score of -inf
  short key[block_keys];  // the seen keys, ascending, relative to the block's start
};

/// distance[j] = T(position of key j - position of the query), for the vector at j.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> distances(Size first) noexcept {
  T lane[width<T, Arch>];
  for (Size l = 0; l < width<T, Arch>; ++l) lane[l] = static_cast<T>(first + l);
  return simd::load<Arch>(lane);
}

/// Step 8: t from s. `bias` holds the row's bias for the block or is null.
template <class T, class Arch>
RAPT_INLINE Batch<T, Arch> modified_score(const Modifiers<T>& by, T scale, T slope, const T* bias,
                                          Size distance, const Batch<T, Arch>& s) noexcept {
  Batch<T, Arch> t = s * simd::broadcast<Arch>(scale);
  if (by.softcap != T(0)) {
    const Batch<T, Arch> cap = simd::broadcast<Arch>(by.softcap);
    t = cap * contract_tanh<T, Arch>(simd::divide(t, cap));
  }
  if (bias != nullptr) t = t + simd::load<Arch>(bias);
  if (by.alibi) t = simd::fma(simd::broadcast<Arch>(slope), distances<T, Arch>(distance), t);
  return t;
}

/// The element of a row's strided by-product or input that belongs to key j of the block.
template <class T, class S, class E>
RAPT_INLINE E& at_key(const AttendArgs<T, S>& args, E* row, Size stride, Size j) noexcept {
  const Size position = args.block_start + j;
  return row[(args.column != nullptr ? args.column[position] : position) * stride];
}

/// Turns row i's scores s into y of the contract in place, -inf for hidden keys, and lists the seen ones.
template <class T, class S, class Arch>
void prepare_row(const AttendArgs<T, S>& args, Size i, KeyRange keys, T* s, SeenKeys& seen) noexcept {
  constexpr Size w = width<T, Arch>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const Modifiers<T>& by = *args.modifiers;
  const RowOptions<T> row = args.options != nullptr ? args.options[i] : RowOptions<T>{};
  const Batch<T, Arch> hidden = simd::broadcast<Arch>(-infinity),
                       least = simd::broadcast<Arch>(-std::numeric_limits<T>::max());
  const Batch<T, Arch> log2e = simd::broadcast<Arch>(T(1.4426950408889634));
  const bool plain = by.softcap == T(0) && !by.alibi && row.bias == nullptr;
  T bias[block_keys], score[block_keys];
  if (row.bias != nullptr) {
    for (Size j = 0; j < block_keys; ++j) bias[j] = T(0);
    for (Size j = keys.lo; j < keys.hi; ++j) bias[j] = at_key(args, row.bias, by.bias_stride, j);
  }
  for (Size j = keys.lo / w * w; j < keys.hi; j += w) {
    const Batch<T, Arch> raw = simd::load<Arch>(s + j);
    Batch<T, Arch> t, y;
    if (plain) {
      t = raw * simd::broadcast<Arch>(args.scale);
      y = raw * simd::broadcast<Arch>(args.c);
      // Only an infinite score hides its key: a finite one whose y overflows is clamped.
      const auto hides = (y == hidden) & (xsimd::abs(raw) == simd::broadcast<Arch>(infinity));
      t = xsimd::select(hides, hidden, t);
      y = xsimd::select(hides, hidden, simd::clamp_below(least, y));
    } else {
      t = modified_score<T, Arch>(by, args.scale, row.slope, row.bias != nullptr ? bias + j : nullptr,
                                  args.block_start + j - (args.row[i].end - 1), raw);
      y = xsimd::select(t == hidden, hidden, simd::clamp_below(least, t * log2e));
    }
    simd::store(score + j, t);
    simd::store(s + j, y);
  }
  seen.visible = seen.count = 0;
  for (Size j = keys.lo; j < keys.hi; ++j) {
    if (row.attend != nullptr && !at_key(args, row.attend, by.attend_stride, j)) {
      s[j] = -infinity;
    } else {
      ++seen.visible;
      if (s[j] != -infinity) seen.key[seen.count++] = static_cast<short>(j);
    }
    if (row.scores != nullptr)
      at_key(args, row.scores, by.scores_stride, j) = s[j] == -infinity ? -infinity : score[j];
  }
}

}  // namespace rapt::kernels
