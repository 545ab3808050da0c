// Attention: softmax(scale * q k^T + ...) v, with exact and reproducible bits.
//
// The arithmetic is fixed by a scalar definition (engine/README.md, "The numeric contract"): every output bit
// is the same for any number of threads, batch, strides, padding and ISA with FMA.
#pragma once

#include <rapt/dtype.hpp>
#include <rapt/export.hpp>
#include <rapt/view.hpp>

#include <cstddef>
#include <optional>

namespace rapt {

/// Which corner of the q_len x kv_len matrix the causal diagonal starts from. L is the number of keys before
/// key_mask (key_lengths[b], or kv_len). With q_len 2 and kv_len 3 (1: visible):
///     none    1 1 1     top_left    1 0 0     bottom_right    1 1 0
///             1 1 1                 1 1 0                     1 1 1
/// Row i sees the keys with index at most i (top_left) or at most i + L - q_len (bottom_right).
enum class Causal { none, top_left, bottom_right };

/// What attention() may be told. An optional view left empty is not there; masks hold true for "real" or "may
/// attend". Masks combine by "and". T is the element type of q and out.
template <class T>
struct AttentionOptions {
  std::optional<double> scale;  ///< multiplies q.k; default 1/sqrt(head_dim); finite, times log2 e in T too;
                                ///< may be 0 or negative
  Causal causal = Causal::none;
  std::optional<std::ptrdiff_t>
      window;  ///< visible keys including the row's own; at least 1; needs a causal corner. Counts real keys.
  std::optional<T>
      softcap;  ///< cap: t -> cap * tanh(t / cap), before any mask; 0 or empty is none; finite, not negative
  std::optional<View<const bool, 2>> key_mask;  ///< [batch, kv_len]; keys behind false are never read
  std::optional<View<const std::ptrdiff_t, 1>> key_lengths;  ///< [batch]; keys from there on are never read
  std::optional<View<const bool, 2>>
      query_mask;  ///< [batch, q_len]; rows behind false give zeros, weights 0, lse -inf
  std::optional<View<const bool, 4>> attend;  ///< broadcasts to [batch, n_heads, q_len, kv_len]: each axis is
                                              ///< whole or 1; changes no numbering
  std::optional<View<const T, 4>> bias;       ///< broadcasts likewise; added to the scaled (and capped) score
  std::optional<View<const T, 1>>
      alibi_slopes;  ///< [n_heads]; adds slope * (key position - own position); needs a causal corner
  std::optional<View<T, 4>>
      weights;  ///< out: [batch, n_heads, q_len, kv_len]; exactly 0 where a row does not see a key
  std::optional<View<T, 4>> scores;  ///< out: the same shape; the scores before softmax, -inf where not seen
  std::optional<View<T, 3>>
      lse;  ///< out: [batch, n_heads, q_len]; natural log of the sum of exponentials, -inf for an empty row
};

/// What a call did: pure functions of the problem, whatever computed it.
struct AttentionReport {
  std::ptrdiff_t dot_products =
      0;  ///< (row, real key) pairs offered by causal, window and lengths; those hidden by attend included
  std::ptrdiff_t visible_pairs = 0;  ///< those left after attend and query_mask
  std::ptrdiff_t bytes_read =
      0;  ///< stored bytes of the K and V offered to some row of their (batch, KV head), each once
};

/// out[b,h,i,:] = sum over visible keys j of softmax_j(scale * q[b,h,i,:] . k[b,hkv,j,:]) * v[b,hkv,j,:], hkv
/// = h / (n_heads / n_kv_heads).
///
/// Shapes: q [batch, n_heads, q_len, head_dim], k [batch, n_kv_heads, kv_len, head_dim], v [batch,
/// n_kv_heads, kv_len, v_dim], out [batch, n_heads, q_len, v_dim]; any strides. n_kv_heads divides n_heads;
/// batch, q_len and kv_len may be 0. A row that sees no key gives zeros; a row that sees one key gives that v
/// unchanged, or NaN where its score makes its weight NaN. Padded keys are compacted away: real rows have the
/// bits of the unpadded run. out and the by-products must not overlap an input or each other. K and V may be
/// stored as bf16 or f16 with float queries; they are converted exactly and the arithmetic is float's. Throws
/// invalid_input or std::bad_alloc, before anything is written. Cost: 2 * visible pairs * (head_dim + v_dim)
/// flop. Memory: packed K and V of the KV heads in flight; of at most 32 rows a KV head, a partial result for
/// each 256 keys; with key_mask an index a key; and for a thread up to 96 rows of q and out, or 24 and their
/// weights where asked for: never q_len * kv_len. Runs in the caller's TBB arena. Re-entrant. Source: Dao et
/// al., FlashAttention, 2022, algorithm 1, with an integer log2 reference for the real maximum.
RAPT_API AttentionReport attention(View<const float, 4> q, View<const float, 4> k, View<const float, 4> v,
                                   View<float, 4> out, const AttentionOptions<float>& options = {});
RAPT_API AttentionReport attention(View<const double, 4> q, View<const double, 4> k, View<const double, 4> v,
                                   View<double, 4> out, const AttentionOptions<double>& options = {});
RAPT_API AttentionReport attention(View<const float, 4> q, View<const bf16, 4> k, View<const bf16, 4> v,
                                   View<float, 4> out, const AttentionOptions<float>& options = {});
RAPT_API AttentionReport attention(View<const float, 4> q, View<const f16, 4> k, View<const f16, 4> v,
                                   View<float, 4> out, const AttentionOptions<float>& options = {});

/// Bytes of scratch that the same call would allocate, with the number of threads of the caller's arena.
/// Throws as the call would.
RAPT_API std::ptrdiff_t attention_scratch_bytes(View<const float, 4> q, View<const float, 4> k,
                                                View<const float, 4> v, View<float, 4> out,
                                                const AttentionOptions<float>& options = {});
RAPT_API std::ptrdiff_t attention_scratch_bytes(View<const double, 4> q, View<const double, 4> k,
                                                View<const double, 4> v, View<double, 4> out,
                                                const AttentionOptions<double>& options = {});
RAPT_API std::ptrdiff_t attention_scratch_bytes(View<const float, 4> q, View<const bf16, 4> k,
                                                View<const bf16, 4> v, View<float, 4> out,
                                                const AttentionOptions<float>& options = {});
RAPT_API std::ptrdiff_t attention_scratch_bytes(View<const float, 4> q, View<const f16, 4> k,
                                                View<const f16, 4> v, View<float, 4> out,
                                                const AttentionOptions<float>& options = {});

/// slopes[h] of ALiBi (Press et al., Train Short, Test Long, 2022, section 3): for n_heads a power of two
/// 2^(-max_bias (h+1) / n_heads); otherwise those of the next lower power of two, then every other one of the
/// next higher. slopes: [n_heads], any stride. Throws invalid_input for no head or a max_bias that is not
/// finite.
RAPT_API void alibi_slopes(View<float, 1> slopes, double max_bias = 8.0);
RAPT_API void alibi_slopes(View<double, 1> slopes, double max_bias = 8.0);

/// Merges two attention results over disjoint keys, row by row: m = max(lse1, lse2); wi = exp(lsei - m);
/// out = (out1 w1 + out2 w2) / (w1 + w2); lse = m + log(w1 + w2). A part with lse -inf is ignored whole, so
/// (0, -inf) is the identity; two such parts give zeros. Shapes: outs [batch, n_heads, q_len, v_dim], lses
/// [batch, n_heads, q_len], all the same; any strides. out may be out1 or out2, lse may be lse1 or lse2 (the
/// same view), and otherwise neither shares memory with an input. Throws invalid_input, nothing written.
/// Cost: one pass on the calling thread.
RAPT_API void merge(View<const float, 4> out1, View<const float, 3> lse1, View<const float, 4> out2,
                    View<const float, 3> lse2, View<float, 4> out, View<float, 3> lse);
RAPT_API void merge(View<const double, 4> out1, View<const double, 3> lse1, View<const double, 4> out2,
                    View<const double, 3> lse2, View<double, 4> out, View<double, 3> lse);

}  // namespace rapt
