// From text to vectors with a place in the sequence: byte tokenizer, one-hot table, token and position
// embeddings (single precision), sinusoidal positions, and rotary positions for queries and keys.
#pragma once

#include <rapt/export.hpp>
#include <rapt/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// Token ids of the byte tokenizer: four special ones, then byte b is b + first_byte_id.
inline constexpr std::int64_t pad_id = 0;
inline constexpr std::int64_t unk_id = 1;
inline constexpr std::int64_t bos_id = 2;
inline constexpr std::int64_t eos_id = 3;
inline constexpr std::int64_t first_byte_id = 4;
inline constexpr std::int64_t byte_vocab_size = first_byte_id + 256;

/// One id per byte of text, after bos_id if bos and before eos_id if eos: "Hello" is [76, 105, 112, 112,
/// 115]. Any bytes, NUL too. Linear time and memory.
RAPT_API std::vector<std::int64_t> encode(std::string_view text, bool bos = false, bool eos = false);

/// The bytes of ids [T], special ids leaving nothing: decode(encode(text, ...)) is text.
/// Any stride. Throws invalid_input naming the first id below 0 or from byte_vocab_size on, and its place.
/// Linear time.
RAPT_API std::string decode(View<const std::int64_t, 1> ids);

/// The distinct words of a text in ascending order of their unsigned bytes (digits < upper case < lower case
/// < UTF-8); word w has the one-hot vector that is 1 at its place in that order and 0 elsewhere.
/// Copies and moves as its words do; reading from many threads is safe.
class RAPT_API OneHotTable {
 public:
  /// T words in any order, repeats allowed. T log T comparisons; memory for the distinct words only.
  explicit OneHotTable(std::span<const std::string_view> words);

  /// How many distinct words; the length of every vector.
  std::ptrdiff_t size() const noexcept { return static_cast<std::ptrdiff_t>(words_.size()); }
  /// [size()], sorted.
  const std::vector<std::string>& words() const noexcept { return words_; }
  /// The place of a word, in [0, size()). Throws invalid_input when the table does not hold it. log size()
  /// comparisons.
  std::ptrdiff_t index_of(std::string_view word) const;
  /// Writes the vectors of all words: out [size(), size()], the identity matrix; any strides, distinct
  /// elements. Throws invalid_input for another shape, nothing written.
  void vectors(View<double, 2> out) const;

 private:
  std::vector<std::string> words_;
};

/// One element of the sinusoidal position table: with angle = position / 10000^(2 (dim / 2) / hidden_dim)
/// (integer dim / 2), the sine of the angle for an even dim and its cosine for an odd one. The angle is
/// computed in double and rounded to float; the sine of that float is rounded to float. Any position,
/// negative ones too. Throws invalid_input unless 0 <= dim < hidden_dim. Source: Vaswani et al., Attention Is
/// All You Need, 2017, section 3.5.
RAPT_API float sinusoidal(std::int64_t position, std::ptrdiff_t dim, std::ptrdiff_t hidden_dim);

/// The rows first_position, first_position + 1, ... of that table: out [len, hidden_dim]. An odd hidden_dim
/// ends on a sine. Throws invalid_input when a position does not fit 64 bits. One sine or cosine an element.
RAPT_API void sinusoidal(View<float, 2> out, std::int64_t first_position = 0);

/// What an Embedding adds to a token's row for its place in the sequence.
enum class Position {
  none,        ///< nothing: a sequence and its reversal hold the same rows
  sinusoidal,  ///< the closed form; beyond the table it goes on
  learned,     ///< a table of its own; there is nothing beyond it
};

/// The size and the start of an Embedding.
struct EmbeddingOptions {
  std::ptrdiff_t vocab_size = byte_vocab_size;
  std::ptrdiff_t hidden_dim = 64;
  std::ptrdiff_t max_seq_len = 128;
  Position position = Position::sinusoidal;
  double std = 0.02;       ///< standard deviation of the random start; finite, not negative
  std::uint64_t seed = 0;  ///< the same seed gives the same bits on every machine
};

/// out[t] = token_table[id of t] + position_table[t], in float.
///
/// The random start is normal with mean 0. Value i of a table is a pure function of (seed, table, i), so a
/// larger vocabulary with the same hidden_dim begins with the rows of a smaller one. Copies are deep; a
/// moved-from Embedding may only be assigned or destroyed. forward() may run on many threads at once while
/// nobody writes to a table.
class RAPT_API Embedding {
 public:
  /// Throws invalid_input when a size is below 1, a table does not fit the address space, or std is negative
  /// or not finite. Memory: (vocab_size + max_seq_len) * hidden_dim floats, without the second term for
  /// Position::none.
  explicit Embedding(const EmbeddingOptions& options = {});

  const EmbeddingOptions& options() const noexcept { return options_; }

  /// [vocab_size, hidden_dim], to read and to set.
  View<float, 2> token_table() noexcept;
  View<const float, 2> token_table() const noexcept;
  /// [max_seq_len, hidden_dim], to read and to set; [0, hidden_dim] for Position::none. Holds the closed form
  /// for Position::sinusoidal until it is set.
  View<float, 2> position_table() noexcept;
  View<const float, 2> position_table() const noexcept;

  /// ids [T] or [B, T], out [T, hidden_dim] or [B, T, hidden_dim]; any strides. The row of ids[t] is at
  /// position first_position + t. An id below 0 or from vocab_size on reads the row of UNK, min(1, vocab_size
  /// - 1). T may be max_seq_len and may be 0 (nothing is written). Positions from max_seq_len on, which only
  /// a first_position reaches, are the closed form for Position::sinusoidal and refused for
  /// Position::learned. Throws invalid_input, out untouched, for a T above max_seq_len, shapes that differ, a
  /// negative first_position, or an out that overlaps ids or a table. Cost: reads two rows and writes one for
  /// each token; runs at memory speed. Positions beyond the table take (T + 2) * hidden_dim numbers of
  /// scratch (std::bad_alloc).
  void forward(View<const std::int64_t, 1> ids, View<float, 2> out, std::int64_t first_position = 0) const;
  void forward(View<const std::int32_t, 1> ids, View<float, 2> out, std::int64_t first_position = 0) const;
  void forward(View<const std::int64_t, 2> ids, View<float, 3> out, std::int64_t first_position = 0) const;
  void forward(View<const std::int32_t, 2> ids, View<float, 3> out, std::int64_t first_position = 0) const;

 private:
  void require_forward(std::array<std::ptrdiff_t, 2> ids, View<float, 3> out,
                       std::int64_t first_position) const;
  template <class Id>
  void write_rows(View<const Id, 2> ids, View<float, 3> out, std::int64_t first_position) const;

  EmbeddingOptions options_;
  std::vector<float> token_table_;
  std::vector<float> position_table_;
};

/// How rope() pairs and turns components.
struct RopeOptions {
  double base = 10000.0;     ///< finite, at least 1
  bool interleaved = false;  ///< pairs (2i, 2i + 1) in place of (i, i + head_dim / 2)
};

/// Rotary position embedding: pair i of the row at position p turns by the angle p * base^(-2 i / head_dim).
///
/// Shapes: x and out [batch, n_heads, len, head_dim], head_dim even; positions [len], or [batch, len] for
/// sequences that stand at different places. Positions are absolute, 64-bit, and may be negative. Any
/// strides; out may be x itself (the same view), and otherwise must share no memory with an input.
/// With (c, s) the cosine and sine of the angle rounded to T: (x0, x1) -> (x0 c - x1 s, x1 c + x0 s), each
/// operation rounded in T. At position 0 a row keeps its bits. c and s are within one ulp of T plus 2^-53
/// (f64: for |p| < 2^40; f32: for every p): the frequency is held in two doubles and the angle reduced with
/// both. Rows depend on their own position only, so any chunking gives the same bits. Throws invalid_input,
/// out untouched. Cost: 6 flop a pair, and one sine and cosine a pair and position. Source: Su et al.,
/// RoFormer, 2021, section 3.4.2; the halves pairing is that of GPT-NeoX.
RAPT_API void rope(View<const float, 4> x, View<const std::int64_t, 1> positions, View<float, 4> out,
                   const RopeOptions& options = {});
RAPT_API void rope(View<const double, 4> x, View<const std::int64_t, 1> positions, View<double, 4> out,
                   const RopeOptions& options = {});
RAPT_API void rope(View<const float, 4> x, View<const std::int64_t, 2> positions, View<float, 4> out,
                   const RopeOptions& options = {});
RAPT_API void rope(View<const double, 4> x, View<const std::int64_t, 2> positions, View<double, 4> out,
                   const RopeOptions& options = {});

}  // namespace rapt
