// The numeric contract of fused attention, version 1, as plain scalar code: every kernel, on every ISA with
// FMA, gives exactly the bits that this gives. It is written to be compared with the contract's text
// (engine/README.md), not to be quick. It includes nothing of the engine, checks no argument and is never
// linked into rapt.
//
// T is float or double. Every operation is one IEEE operation in T, rounded to nearest even; fma rounds once.
//   LANES 16 (float) or 8 (double), BLOCK 256 keys, EMIN -126 or -1022, MAX the largest finite number, log2e
//   = 1.4426950408889634. 2^y and tanh: contract_arithmetic.hpp.
#pragma once

#include <rapt/attention.hpp>

#include "reference/contract_arithmetic.hpp"

namespace rapt::reference {

/// attention(), by definition. Stored is T, or bf16 or f16 when T is float.
template <class T, class Stored>
AttentionReport attention_definition(View<const T, 4> q, View<const Stored, 4> k, View<const Stored, 4> v,
                                     View<T, 4> out, const AttentionOptions<T>& options = {});

}  // namespace rapt::reference
