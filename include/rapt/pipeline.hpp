// The staged program: one attention head on a small text format, in six printed stages. parse reads, run
// computes, print writes.
//
// The format: n d g text_len, then text_len words, n mask integers (1 real, 0 padding), n prompt rows of d
// numbers, g generated rows of d, and W_q, W_k, W_v, each d rows of d. White space of any kind separates,
// line breaks mean nothing.
#pragma once

#include <rapt/dtype.hpp>
#include <rapt/export.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rapt::pipeline {

/// A reference to a function object (a lambda, say) for the length of one call. Owns nothing.
template <class Signature>
class Callable;
template <class R, class... Args>
class Callable<R(Args...)> {
 public:
  /// Of any function object but a Callable: that one is copied.
  template <class F, class = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<F>, Callable> &&
                                              std::is_invocable_r_v<R, F&, Args...>>>
  Callable(F&& function)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// Where the text comes from: fills the buffer with up to size bytes, returns how many; 0 is the end. May
/// throw.
using Source = Callable<std::size_t(char* buffer, std::size_t size)>;

/// Where the text goes: takes the chunk, or returns false when it cannot be written. May throw.
using Sink = Callable<bool(std::string_view chunk)>;

/// What one text holds. Every matrix is row-major without gaps.
struct Input {
  std::ptrdiff_t n = 0;             ///< prompt rows
  std::ptrdiff_t d = 0;             ///< components of a row
  std::ptrdiff_t g = 0;             ///< generated rows
  std::vector<std::string> words;   ///< [text_len]; bytes, 1 to 20 each
  std::vector<unsigned char> mask;  ///< [n]; 1 real, 0 padding
  std::vector<double> prompt;       ///< [n, d]
  std::vector<double> generated;    ///< [g, d]
  std::vector<double> wq, wk, wv;   ///< [d, d]; a row x projects to x W

  std::ptrdiff_t text_len() const noexcept { return static_cast<std::ptrdiff_t>(words.size()); }
  bool operator==(const Input&) const = default;
};

/// The assignment's sizes (n and d 1 to 64, g 0 to 32, text_len 1 to 64), or any that an int holds. A word
/// has at most 20 bytes in both.
enum class Limits { assignment, unbounded };

/// Reads one text, all of it. Real numbers are rounded correctly whatever their length; nothing depends on
/// the locale. Throws invalid_input with one line that names the field, its place and what was expected:
/// "prompt[3][7]: line 12, column 5: expected a number, got 'abc'". Columns count bytes from 1.
/// Cost: linear in the bytes; memory: what the numbers and words read so far need, and 64 KiB.
RAPT_API Input parse(Source source, Limits limits = Limits::assignment);
RAPT_API Input parse(std::string_view text, Limits limits = Limits::assignment);

/// Everything the six stages hold. The printed form rounds to three decimals, these keep their bits.
struct Result {
  std::vector<std::string> vocabulary;  ///< the words once each, in the order of their unsigned bytes
  std::vector<double> q, k, v;          ///< [n, d]; masked rows too
  std::vector<double> scores;           ///< [n, n]; q.k / sqrt(d); -inf above the diagonal and where masked
  std::vector<double> weights;          ///< [n, n]; exactly 0 where the score is masked
  std::vector<double> output;           ///< [n, d]; zeros in masked rows
  /// [g, d]; attention of each generated row to the real prompt rows, the generated rows before it and itself
  std::vector<double> generated;
  /// [g]; dot products made for generated row t: 4 d + real prompt rows + t + 1
  std::vector<std::ptrdiff_t> dot_products;
};

/// Computes the six stages. A masked row is absent: it takes part in no sum.
///
/// Textbook arithmetic gives the bits of the plain loops: every sum from +0 in ascending order, multiply and
/// add rounded separately, the C library's exp, weights normalised before they are used; the same bits on
/// every ISA. Fused arithmetic is attention()'s: the same bits on every ISA with FMA, but other bits than
/// textbook's. Neither depends on the number of threads.
///
/// Throws invalid_input when the arrays of the input do not have the sizes that n, d and g say, or arithmetic
/// is none. Cost: (n + g) d^2 + (n + g)^2 d multiply-adds; memory: the result and the projected rows. Runs in
/// the caller's TBB arena.
RAPT_API Result run(const Input& input, Arithmetic arithmetic = Arithmetic::textbook);

/// The same into `result`, whose memory is used again where it is large enough: for many runs. When it
/// throws, what `result` holds is not said.
RAPT_API void run(const Input& input, Arithmetic arithmetic, Result& result);

/// What run(input) costs, from the words, the sizes and the mask: comparisons, multiply-add pairs and
/// exponentials of each stage.
struct Operations {
  std::ptrdiff_t comparisons;    ///< stage 1: of words with words, to sort them; some text_len log2(text_len)
  std::ptrdiff_t one_hot_cells;  ///< stage 1: vocabulary^2, those printed
  std::ptrdiff_t projection;     ///< stage 2: multiply-adds, 3 n d^2
  std::ptrdiff_t scores;         ///< stage 3: multiply-adds, d for each visible pair
  std::ptrdiff_t exponentials;   ///< stage 4: one for each visible pair
  std::ptrdiff_t output;         ///< stage 5: multiply-adds, d for each visible pair
  std::ptrdiff_t generation;     ///< stage 6: multiply-adds, 3 d^2 for a row and 2 d for each key it sees
};

/// The counts of an input. Cost: n, and the sorting of the words.
RAPT_API Operations operations(const Input& input);

/// A choice among the six stages, which are numbered from 1.
class Stages {
 public:
  static constexpr int count = 6;
  static constexpr Stages all() noexcept { return Stages((1U << count) - 1); }
  static constexpr Stages none() noexcept { return Stages(0); }
  constexpr Stages with(int stage) const noexcept { return Stages(bits_ | 1U << (stage - 1)); }
  constexpr bool has(int stage) const noexcept { return (bits_ >> (stage - 1) & 1U) != 0; }

 private:
  constexpr explicit Stages(unsigned bits) noexcept : bits_(bits) {}
  unsigned bits_;
};

/// Writes the chosen stages: headers, one line for a row, every number with three decimals rounded as the
/// exact binary value demands (ties to even), "-inf", "inf" and "nan", never "-0.000" or "-nan".
///
/// `result` is run()'s of this input. Returns false, at once, when the sink does. Throws only what the sink
/// throws. Cost: linear in the bytes; memory: 64 KiB.
[[nodiscard]] RAPT_API bool print(const Input& input, const Result& result, Sink sink,
                                  Stages stages = Stages::all());

}  // namespace rapt::pipeline
