// The one place that refuses the arguments of attention(), merge() and alibi_slopes(): everything is checked
// before anything is written. tests/validate_test.cpp holds every message.
#pragma once

#include <rapt/attention.hpp>

namespace rapt {

/// Throws invalid_input unless attention(q, k, v, out, options) is well defined. After it: all shapes agree;
/// an axis of attend and bias is whole or has extent 1; outputs have distinct elements and share no memory
/// with inputs or each other; the number of pairs, and the bytes of K and V, fit in ptrdiff_t.
template <class T, class Stored>
void validate(const View<const T, 4>& q, const View<const Stored, 4>& k, const View<const Stored, 4>& v,
              const View<T, 4>& out, const AttentionOptions<T>& options);

/// For merge(): equal shapes; out may be exactly out1 or out2, lse exactly lse1 or lse2, and nothing else may
/// overlap an output.
template <class T>
void validate_merge(const View<const T, 4>& out1, const View<const T, 3>& lse1, const View<const T, 4>& out2,
                    const View<const T, 3>& lse2, const View<T, 4>& out, const View<T, 3>& lse);

template <class T>
void validate_alibi_slopes(const View<T, 1>& slopes, double max_bias);

}  // namespace rapt
