#include "kv_cache_checks.hpp"

#include <cmath>

#include "checked.hpp"
#include "rope.hpp"

namespace rapt {
namespace {

using Size = std::ptrdiff_t;

// Sequences may become longer than any capacity; what is counted of them may not overflow.
constexpr Size longest = PTRDIFF_MAX / 4;

void require_option(const char* name, Size value, Size least) {
  if (value < least) refuse(name, number_text(value) + ", expected at least " + number_text(least));
}

[[noreturn]] void refuse_unlike_cache(const Footprint& view, std::size_t axis, Size expected) {
  refuse(view.name,
         named(view, axis) + " does not match cache: " + view.axes[axis] + " " + number_text(expected));
}

void require_of_cache(const Footprint& view, std::size_t axis, Size expected) {
  if (view.extents[axis] != expected) refuse_unlike_cache(view, axis, expected);
}

Size real_tokens(const View<const bool, 2>& mask, Size b) noexcept {
  Size count = 0;
  for (Size t = 0; t < mask.extents[1]; ++t) count += mask(b, t);
  return count;
}

void check_keys(const KvFacts& cache, const Footprint& k, const Footprint& v) {
  const KvCacheOptions& options = cache.options;
  require_of_cache(k, 0, options.batch);
  require_of_cache(k, 1, options.n_kv_heads);
  require_of_cache(k, 3, options.head_dim);
  require_of_cache(v, 0, options.batch);
  require_of_cache(v, 1, options.n_kv_heads);
  require_of_cache(v, 3, *options.v_dim);
  require_same(v, 2, k, 2);
}

Footprint check_mask(const char* name, const Axes& axes, const View<const bool, 2>& mask,
                     const Footprint& rows) {
  const Footprint view = footprint(name, axes, mask);
  require_same(view, 0, rows, 0);
  require_same(view, 1, rows, 2);
  return view;
}

void check_room(const KvFacts& cache, const Footprint& k,
                const std::optional<View<const bool, 2>>& key_mask) {
  for (Size b = 0; b < cache.options.batch; ++b) {
    const KvSequence& sequence = cache.sequences[static_cast<std::size_t>(b)];
    const Size tokens = key_mask ? real_tokens(*key_mask, b) : k.extents[2];
    if (!cache.ring.fits(sequence, tokens)) {
      refuse("k", number_text(tokens) + " tokens do not fit sequence " + number_text(b) + ": length " +
                      number_text(sequence.length) + ", capacity " + number_text(cache.ring.capacity) +
                      " without a window");
    }
    if (tokens > longest - sequence.length)
      refuse("k", number_text(tokens) + " tokens make sequence " + number_text(b) + " too long to count");
  }
}

void check_queries(const KvFacts& cache, const Footprint& q, const Footprint& out,
                   const std::optional<double>& scale, double softcap) {
  const KvCacheOptions& options = cache.options;
  require_positive(q, 1);
  require_of_cache(q, 0, options.batch);
  require_of_cache(q, 3, options.head_dim);
  if (q.extents[1] % options.n_kv_heads != 0) {
    refuse("q",
           named(q, 1) + " is not a multiple of cache: " + k_axes[1] + " " + number_text(options.n_kv_heads));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) require_same(out, axis, q, axis);
  require_of_cache(out, 3, *options.v_dim);
  Size visible = 0;
  for (const KvSequence& sequence : cache.sequences) visible = std::max(visible, sequence.length);
  if (__builtin_add_overflow(visible, q.extents[2], &visible) ||
      !checked_product({q.extents[0], q.extents[1], q.extents[2], std::min(visible, cache.ring.window)}))
    refuse("q", named(q, 2) + " times its visible keys for every head does not fit in 63 bits");

  const bool is_double = options.dtype == KvDtype::f64;
  is_double ? require_scale<double>(scale) : require_scale<float>(scale);
  const double cap = is_double ? softcap : static_cast<double>(static_cast<float>(softcap));
  if (!(std::isfinite(cap) && cap >= 0) || (cap == 0 && softcap != 0)) {
    refuse("softcap", number_text(softcap) + ", expected a finite number of at least 0" +
                          (is_double ? "" : " in single precision"));
  }
}

// The first row that sees anything sees the earliest keys.
void check_held(const KvFacts& cache, Size b, Size row, Size end) {
  const KvSequence& sequence = cache.sequences[static_cast<std::size_t>(b)];
  const Size needed = cache.ring.offered(end).begin;
  if (needed >= sequence.first) return;
  refuse("q", "row " + number_text(row) + " of sequence " + number_text(b) + " is at position " +
                  number_text(end - 1) + " and needs the keys from position " + number_text(needed) +
                  " on, the first held is " + number_text(sequence.first));
}

const char* name_of(KvDtype dtype) noexcept {
  switch (dtype) {
    case KvDtype::f32:
      return "f32";
    case KvDtype::f64:
      return "f64";
    case KvDtype::bf16:
      return "bf16";
    case KvDtype::f16:
      break;
  }
  return "f16";
}

}  // namespace

void refuse_element(const char* argument, KvDtype was, KvDtype dtype) {
  const bool wide = dtype == KvDtype::f64 || dtype == KvDtype::f32;
  const bool stores = argument[0] == 'k' && !wide;
  refuse(argument, std::string(name_of(was)) + " for a cache of " + name_of(dtype) + ", expected " +
                       (dtype == KvDtype::f64 ? "f64" : "f32") +
                       (stores ? std::string(" or ") + name_of(dtype) : std::string()));
}

void check_options(const KvCacheOptions& options) {
  require_option("batch", options.batch, 0);
  require_option("n_kv_heads", options.n_kv_heads, 1);
  require_option("head_dim", options.head_dim, 1);
  require_option("v_dim", options.v_dim.value_or(options.head_dim), 1);
  require_option("capacity", options.capacity, 1);
  if (options.dtype < KvDtype::f32 || options.dtype > KvDtype::f16)
    refuse("dtype", number_text(static_cast<int>(options.dtype)) + ", expected f32, f64, bf16 or f16");
  if (options.capacity > longest) refuse("capacity", number_text(options.capacity) + ", too long to count");
  if (!options.window) return;
  require_option("window", *options.window, 1);
  if (*options.window > options.capacity) {
    refuse("window",
           number_text(*options.window) + ", expected at most capacity " + number_text(options.capacity));
  }
}

void check_sequence(const KvFacts& cache, const char* argument, Size b) {
  if (b >= 0 && b < cache.options.batch) return;
  refuse(argument,
         number_text(b) + ", expected a sequence from 0 to " + number_text(cache.options.batch - 1));
}

void check_append(const KvFacts& cache, const Footprint& k, const Footprint& v,
                  const KvAppendOptions& options) {
  check_keys(cache, k, v);
  if (options.key_mask) check_mask("key_mask", key_axes, *options.key_mask, k);
  if (options.rope) require_rotatable(cache.options.head_dim, *options.rope);
  check_room(cache, k, options.key_mask);
}

void check_attend(const KvFacts& cache, const Footprint& q, const Footprint& k, const Footprint& v,
                  const Footprint& out, const KvAttendOptions& options) {
  check_keys(cache, k, v);
  require_same(q, 2, k, 2);
  check_queries(cache, q, out, options.scale, options.softcap);
  if (options.rope) require_rotatable(cache.options.head_dim, *options.rope);
  std::optional<Footprint> mask;
  if (options.key_mask) mask = check_mask("key_mask", key_axes, *options.key_mask, k);
  require_distinct(out);
  require_apart(out, q);
  require_apart(out, k);
  require_apart(out, v);
  if (mask) require_apart(out, *mask);
  check_room(cache, k, options.key_mask);
  if (!options.key_mask || k.extents[2] == 0) return;
  for (Size b = 0; b < cache.options.batch; ++b) {
    const Size end = cache.sequences[static_cast<std::size_t>(b)].length;
    if (!(*options.key_mask)(b, 0) && end > 0) check_held(cache, b, 0, end);
  }
}

void check_query(const KvFacts& cache, const Footprint& q, const Footprint& out,
                 const KvQueryOptions& options) {
  check_queries(cache, q, out, options.scale, options.softcap);
  if (options.rope) require_rotatable(cache.options.head_dim, *options.rope);
  std::optional<Footprint> mask;
  if (options.query_mask) mask = check_mask("query_mask", query_axes, *options.query_mask, q);
  require_distinct(out);
  require_apart(out, q);
  if (mask) require_apart(out, *mask);
  for (Size b = 0; b < cache.options.batch; ++b) {
    const Size q_len = q.extents[2], length = cache.sequences[static_cast<std::size_t>(b)].length;
    const Size rows = options.query_mask ? real_tokens(*options.query_mask, b) : q_len;
    if (rows == 0 || length == 0) continue;
    // Rows before position 0 see nothing.
    Size before = std::max(rows - length, Size{0}), t = before;
    if (options.query_mask) {
      for (t = 0; before > 0 || !(*options.query_mask)(b, t); ++t) before -= (*options.query_mask)(b, t);
    }
    check_held(cache, b, t, std::max(length - rows, Size{0}) + 1);
  }
}

void check_rollback(const KvFacts& cache, const View<const Size, 1>& lengths) {
  if (lengths.extents[0] != cache.options.batch) {
    refuse("rollback",
           number_text(lengths.extents[0]) + " lengths, expected batch " + number_text(cache.options.batch));
  }
  for (Size b = 0; b < cache.options.batch; ++b) {
    const KvSequence& sequence = cache.sequences[static_cast<std::size_t>(b)];
    const Size shortest = cache.ring.shortest_length(sequence);
    if (lengths(b) == 0 || (lengths(b) >= shortest && lengths(b) <= sequence.length)) continue;
    refuse("rollback", "length " + number_text(lengths(b)) + " of sequence " + number_text(b) +
                           ", expected " + (shortest > 0 ? "0 or " : "") + number_text(shortest) + " to " +
                           number_text(sequence.length));
  }
}

void check_read(const KvFacts& cache, Size b, const Footprint& out, Size dim, const char* dim_name) {
  const KvSequence& sequence = cache.sequences[static_cast<std::size_t>(b)];
  const Footprint held{"cache", {"n_kv_heads", "held", dim_name},
                       nullptr, 3,
                       1,       {cache.options.n_kv_heads, sequence.length - sequence.first, dim},
                       {}};
  for (std::size_t axis = 0; axis < 3; ++axis) require_same(out, axis, held, axis);
  require_distinct(out);
}

}  // namespace rapt
