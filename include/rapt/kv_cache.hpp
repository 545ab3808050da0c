// The KV cache: keys and values of sequences that grow, and attention over them. Any schedule of prefill
// chunks and decode steps gives the bits of one uncached call of attention().
#pragma once

#include <rapt/attention.hpp>
#include <rapt/dtype.hpp>
#include <rapt/embedding.hpp>
#include <rapt/export.hpp>
#include <rapt/view.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace rapt {

/// How a cache stores keys and values. f64 computes in double, the others in float; bf16 and f16 are rounded
/// to nearest even when appended and widened exactly when read.
enum class KvDtype { f32, f64, bf16, f16 };

/// The shape of a cache. batch may be 0; everything else is at least 1.
struct KvCacheOptions {
  std::ptrdiff_t batch = 1;  ///< sequences, each with its own length
  std::ptrdiff_t n_kv_heads = 1;
  std::ptrdiff_t head_dim = 1;
  std::optional<std::ptrdiff_t> v_dim = std::nullopt;  ///< head_dim when left empty
  std::ptrdiff_t capacity = 1;                         ///< tokens held of each sequence
  /// Visible keys of a row, its own included; at most capacity. With it the oldest tokens go when the cache
  /// is full; without it an append beyond the capacity is refused.
  std::optional<std::ptrdiff_t> window = std::nullopt;
  KvDtype dtype = KvDtype::f32;
};

struct KvAppendOptions {
  /// [batch, T]: false is padding. It is never read, never stored and has no position.
  std::optional<View<const bool, 2>> key_mask = std::nullopt;
  /// Rotates each key at its position before it is rounded and stored.
  std::optional<RopeOptions> rope = std::nullopt;
};

struct KvQueryOptions {
  /// [batch, q_len]: the real rows are the last positions of their sequence, in order; the others give zeros.
  std::optional<View<const bool, 2>> query_mask = std::nullopt;
  std::optional<double> scale = std::nullopt;  ///< as in AttentionOptions
  double softcap = 0;                          ///< cap: t -> cap * tanh(t / cap); 0 is none; finite and not
                                               ///< negative, and not rounded to 0, in q's type
  /// Rotates each row of q at its own position.
  std::optional<RopeOptions> rope = std::nullopt;
};

struct KvAttendOptions {
  std::optional<View<const bool, 2>> key_mask = std::nullopt;  ///< as in KvAppendOptions
  std::optional<double> scale = std::nullopt;                  ///< as in KvQueryOptions
  double softcap = 0;                                          ///< as in KvQueryOptions
  /// Rotates each key, and each row of q, at its position.
  std::optional<RopeOptions> rope = std::nullopt;
};

/// Positions [begin, end) of a sequence.
struct KvPositions {
  std::ptrdiff_t begin = 0;
  std::ptrdiff_t end = 0;
};

/// Bytes that a cache of this shape allocates for keys and values: whole blocks of 256 tokens (one more with
/// a window), values padded to whole vectors of the active ISA. At least the payload that kv_capacity()
/// gives. Throws invalid_input as the constructor does, and std::bad_alloc when the bytes do not fit
/// std::ptrdiff_t. Constant time.
RAPT_API std::ptrdiff_t kv_cache_bytes(const KvCacheOptions& options);

/// Keys and values of `batch` sequences, and attention over them.
///
/// Tokens of a sequence have positions 0, 1, 2, ... in the order they were appended; padding has none. A row
/// at position p sees the keys at positions [max(0, p + 1 - window), p]. Shapes: k [batch, n_kv_heads, T,
/// head_dim], v [batch, n_kv_heads, T, v_dim], q [batch, n_heads, T, head_dim] with n_kv_heads dividing
/// n_heads, out [batch, n_heads, T, v_dim]; any strides; T may be 0. q, k, v and out are float for f32, bf16
/// and f16 caches and double for f64; a bf16 or f16 cache also takes k and v of its own type.
///
/// Every function throws invalid_input or std::bad_alloc before it changes anything: a refused call leaves
/// the cache and out as they were. out must not overlap an input.
///
/// Memory: everything for keys and values is allocated by the constructor, aligned to 64 bytes, with huge
/// pages asked for where it is large. Scratch is kept, and grows only when a call is larger, or more threads
/// or concurrent queries are there, than ever before: in steady state nothing is allocated.
///
/// Threads: const functions, query() too, may run at the same time; nothing else may run beside a function
/// that is not const. Work runs in the caller's TBB arena, and no bit depends on it. A cache keeps the ISA
/// that was active when it was made. A copy holds the same tokens and shares nothing; copying costs a new
/// cache and the tokens held. A move is constant time, and what was moved from may only be assigned to or
/// destroyed.
class RAPT_API KvCache {
 public:
  /// Empty sequences. Throws invalid_input when a member of the options is out of range or window is above
  /// capacity.
  explicit KvCache(const KvCacheOptions& options);
  KvCache(const KvCache& other);
  KvCache(KvCache&& other) noexcept;
  KvCache& operator=(const KvCache& other);
  KvCache& operator=(KvCache&& other) noexcept;
  ~KvCache();

  /// Stores the real tokens of k and v behind what is there. Without a window, more tokens than fit are
  /// refused; with one only the last `capacity` are kept. Cost: reads k and v once.
  void append(View<const float, 4> k, View<const float, 4> v, const KvAppendOptions& options = {});
  void append(View<const double, 4> k, View<const double, 4> v, const KvAppendOptions& options = {});
  void append(View<const bf16, 4> k, View<const bf16, 4> v, const KvAppendOptions& options = {});
  void append(View<const f16, 4> k, View<const f16, 4> v, const KvAppendOptions& options = {});

  /// append(), and attention of the same T tokens, as one call: row t sees what was stored before and the
  /// chunk's real keys up to t, within the window, also when the chunk is longer than window or capacity.
  /// Rows of padded tokens are computed like any other: such a row is at the position of the last real key up
  /// to it. A padded row before the chunk's first real key, whose window begins before the first held
  /// position (possible after a rollback only), is refused. Cost: 2 * visible pairs * (head_dim + v_dim)
  /// flop; a decode step reads each visible key and value once.
  AttentionReport attend(View<const float, 4> q, View<const float, 4> k, View<const float, 4> v,
                         View<float, 4> out, const KvAttendOptions& options = {});
  AttentionReport attend(View<const double, 4> q, View<const double, 4> k, View<const double, 4> v,
                         View<double, 4> out, const KvAttendOptions& options = {});
  AttentionReport attend(View<const float, 4> q, View<const bf16, 4> k, View<const bf16, 4> v,
                         View<float, 4> out, const KvAttendOptions& options = {});
  AttentionReport attend(View<const float, 4> q, View<const f16, 4> k, View<const f16, 4> v,
                         View<float, 4> out, const KvAttendOptions& options = {});

  /// Attention over what is stored. Row t of T is at position length - T + t, or with query_mask the real
  /// rows are at the last positions; a row before position 0 and a row behind query_mask give zeros. A row
  /// whose visible keys are not all held is refused, with the needed and the first held position. Cost as
  /// attend().
  AttentionReport query(View<const float, 4> q, View<float, 4> out, const KvQueryOptions& options = {}) const;
  AttentionReport query(View<const double, 4> q, View<double, 4> out,
                        const KvQueryOptions& options = {}) const;

  /// Tokens appended so far to sequence b: the position of the next one.
  std::ptrdiff_t length(std::ptrdiff_t b) const;
  /// What is held of sequence b, at most `capacity` tokens, ending at length(b).
  KvPositions positions(std::ptrdiff_t b) const;

  /// Makes every sequence, or sequence b for lengths[b] (one for each), as long as given: the tokens from
  /// there on go. Allowed when the whole window of the next token is still held, or the length is 0; else
  /// refused with the shortest possible length. All sequences or none. Constant time a sequence.
  void rollback(std::ptrdiff_t length);
  void rollback(std::span<const std::ptrdiff_t> lengths);
  /// rollback(0).
  void clear() noexcept;

  /// Makes sequence target hold what sequence source holds (prefix reuse). Cost: copies the blocks held.
  void copy_sequence(std::ptrdiff_t source, std::ptrdiff_t target);

  /// Copies of what is stored of sequence b, as it is stored (rotated, rounded, widened), ascending
  /// positions: out [n_kv_heads, held, head_dim] or [n_kv_heads, held, v_dim], held = positions(b).end -
  /// begin.
  void keys(std::ptrdiff_t b, View<float, 3> out) const;
  void keys(std::ptrdiff_t b, View<double, 3> out) const;
  void values(std::ptrdiff_t b, View<float, 3> out) const;
  void values(std::ptrdiff_t b, View<double, 3> out) const;

  /// Bytes allocated for keys and values: kv_cache_bytes() of the options, scratch not counted.
  std::ptrdiff_t nbytes() const noexcept;
  std::ptrdiff_t capacity() const noexcept;
  std::optional<std::ptrdiff_t> window() const noexcept;
  /// As given to the constructor, v_dim filled in.
  const KvCacheOptions& options() const noexcept;

 private:
  friend struct KvCacheAccess;  // the engine's own way to the panels
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rapt
