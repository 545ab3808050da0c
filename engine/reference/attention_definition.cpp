// The definition of fused attention. Step numbers are those of the numeric contract.
#include "reference/attention_definition.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace rapt::reference {
namespace {

constexpr std::ptrdiff_t block_size = 256;
constexpr double log2e = 1.4426950408889634;
constexpr double ln2 = 0.6931471805599453;

template <class T>
constexpr std::ptrdiff_t lanes = 16;
template <>
constexpr std::ptrdiff_t lanes<double> = 8;

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T largest = std::numeric_limits<T>::max();

// The larger number, NaN if either is.
template <class T>
T max_or_nan(T a, T b) {
  return a != a || a > b ? a : b;
}

// An axis of extent 1 is repeated.
template <class E>
E broadcast(const View<const E, 4>& view, std::array<std::ptrdiff_t, 4> at) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (view.extents[axis] == 1) at[axis] = 0;
  }
  return view(at[0], at[1], at[2], at[3]);
}

// Indices of the real keys of a sequence: the key at position x is at index real[x].
template <class T>
std::vector<std::ptrdiff_t> real_keys(const AttentionOptions<T>& options, std::ptrdiff_t b,
                                      std::ptrdiff_t kv_len) {
  std::vector<std::ptrdiff_t> real;
  const std::ptrdiff_t length = options.key_lengths ? (*options.key_lengths)(b) : kv_len;
  for (std::ptrdiff_t j = 0; j < length; ++j) {
    if (!options.key_mask || (*options.key_mask)(b, j)) real.push_back(j);
  }
  return real;
}

// The positions [begin, end) that query i is offered; its own position is end - 1.
struct Interval {
  std::ptrdiff_t begin;
  std::ptrdiff_t end;
};
template <class T>
Interval offered(const AttentionOptions<T>& options, const std::vector<std::ptrdiff_t>& real,
                 std::ptrdiff_t b, std::ptrdiff_t i, std::ptrdiff_t q_len, std::ptrdiff_t kv_len) {
  const std::ptrdiff_t length = options.key_lengths ? (*options.key_lengths)(b) : kv_len;
  const std::ptrdiff_t limit = options.causal == Causal::none       ? kv_len
                               : options.causal == Causal::top_left ? i
                                                                    : i + length - q_len;
  std::ptrdiff_t end = 0;
  while (end < std::ssize(real) && real[static_cast<std::size_t>(end)] <= limit) ++end;
  const std::ptrdiff_t window = options.window.value_or(end);
  return {window < end ? end - window : 0, end};
}

// What a row knows of one key that it sees.
template <class T>
struct Seen {
  std::ptrdiff_t position;
  std::ptrdiff_t j;  // index in k and v
  T n, p;            // 2^y = p * pow2(n)
  T m;               // the maximum of its block, set by fold
};

template <class T>
struct Partial {
  T m = 0, l = 0;
  std::vector<T> a;
};

// Step 4: the seen keys [first, last) are those of one block.
template <class T, class Stored>
Partial<T> partial(Seen<T>* first, Seen<T>* last, const View<const Stored, 4>& v, std::ptrdiff_t b,
                   std::ptrdiff_t hkv) {
  Partial<T> block{first->n, 0, std::vector<T>(static_cast<std::size_t>(v.extents[3]))};
  for (const Seen<T>* key = first; key != last; ++key) block.m = max_or_nan(block.m, key->n);
  std::array<T, static_cast<std::size_t>(lanes<T>)> sum{};
  for (Seen<T>* key = first; key != last; ++key) {
    key->m = block.m;
    const T w = key->p * pow2(key->n - block.m);
    sum[static_cast<std::size_t>(key->position % lanes<T>)] += w;
    for (std::size_t c = 0; c < block.a.size(); ++c)
      block.a[c] = std::fma(w, T(widen(v(b, hkv, key->j, c))), block.a[c]);
  }
  for (std::size_t half = sum.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sum[i] += sum[i + half];
  }
  block.l = sum[0];
  return block;
}

// Step 5.
template <class T>
void fold(Partial<T>& row, const Partial<T>& block) {
  const T m = max_or_nan(row.m, block.m);
  const T x = pow2(row.m - m), z = pow2(block.m - m);
  row.l = row.l * x + block.l * z;
  for (std::size_t c = 0; c < row.a.size(); ++c) row.a[c] = row.a[c] * x + block.a[c] * z;
  row.m = m;
}

template <class T, class Stored>
struct Definition {
  View<const T, 4> q;
  View<const Stored, 4> k, v;
  View<T, 4> out;
  const AttentionOptions<T>& options;
  T scale = T(options.scale.value_or(1 / std::sqrt(static_cast<double>(q.extents[3]))));
  T c = T(options.scale.value_or(1 / std::sqrt(static_cast<double>(q.extents[3]))) * log2e);
  bool has_softcap = options.softcap.value_or(0) != 0;
  bool plain = !has_softcap && !options.bias && !options.alibi_slopes;

  // Steps 1, 2, 3 and 8: appends the key at index j to the row's seen keys, unless it is hidden.
  void look(std::vector<Seen<T>>& seen, std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i,
            std::ptrdiff_t hkv, std::ptrdiff_t j, std::ptrdiff_t position,
            std::ptrdiff_t own_position) const {
    T s = 0;
    for (std::ptrdiff_t u = 0; u < q.extents[3]; ++u)
      s = std::fma(q(b, h, i, u), T(widen(k(b, hkv, j, u))), s);
    T y, score = s * scale;
    if (plain) {
      y = s * c;
      if (std::isinf(s) && y == -infinity<T>) return;
    } else {
      if (has_softcap) score = *options.softcap * tanh(score / *options.softcap);
      if (options.bias) score = score + broadcast(*options.bias, {b, h, i, j});
      if (options.alibi_slopes)
        score = std::fma((*options.alibi_slopes)(h), T(position - own_position), score);
      if (score == -infinity<T>) return;
      y = score * T(log2e);
    }
    const Exp2<T> e = exp2_split(max_or_nan(y, -largest<T>));
    seen.push_back({position, j, e.n, e.p, e.n});
    if (options.scores) (*options.scores)(b, h, i, j) = score;
  }

  void row(std::ptrdiff_t b, std::ptrdiff_t h, std::ptrdiff_t i, std::ptrdiff_t hkv, Interval interval,
           const std::vector<std::ptrdiff_t>& real, AttentionReport& report) const {
    for (std::ptrdiff_t col = 0; col < out.extents[3]; ++col) out(b, h, i, col) = 0;
    for (std::ptrdiff_t j = 0; j < k.extents[2]; ++j) {
      if (options.weights) (*options.weights)(b, h, i, j) = 0;
      if (options.scores) (*options.scores)(b, h, i, j) = -infinity<T>;
    }
    if (options.lse) (*options.lse)(b, h, i) = -infinity<T>;
    report.dot_products += interval.end - interval.begin;
    if (options.query_mask && !(*options.query_mask)(b, i)) return;

    std::vector<Seen<T>> seen;
    for (std::ptrdiff_t position = interval.begin; position < interval.end; ++position) {
      const std::ptrdiff_t j = real[static_cast<std::size_t>(position)];
      if (options.attend && !broadcast(*options.attend, {b, h, i, j})) continue;
      ++report.visible_pairs;
      look(seen, b, h, i, hkv, j, position, interval.end - 1);
    }
    if (!seen.empty()) finish(fold_blocks(seen, b, hkv), seen, b, h, i, hkv);
  }

  Partial<T> fold_blocks(std::vector<Seen<T>>& seen, std::ptrdiff_t b, std::ptrdiff_t hkv) const {
    Partial<T> sum;
    Seen<T>* const end = seen.data() + seen.size();
    for (Seen<T>* first = seen.data(); first != end;) {
      Seen<T>* last = first;
      while (last != end && last->position / block_size == first->position / block_size) ++last;
      const Partial<T> block = partial(first, last, v, b, hkv);
      if (first == seen.data()) {
        sum = block;
      } else {
        fold(sum, block);
      }
      first = last;
    }
    return sum;
  }

  // Steps 6 and 7.
  void finish(const Partial<T>& sum, const std::vector<Seen<T>>& seen, std::ptrdiff_t b, std::ptrdiff_t h,
              std::ptrdiff_t i, std::ptrdiff_t hkv) const {
    const bool only_one = seen.size() == 1 && !std::isnan(sum.l);
    for (std::ptrdiff_t col = 0; col < out.extents[3]; ++col) {
      out(b, h, i, col) =
          only_one ? T(widen(v(b, hkv, seen[0].j, col))) : sum.a[static_cast<std::size_t>(col)] / sum.l;
    }
    if (options.weights) {
      for (const Seen<T>& key : seen) {
        (*options.weights)(b, h, i, key.j) = ((key.p * pow2(key.n - key.m)) * pow2(key.m - sum.m)) / sum.l;
      }
    }
    if (options.lse) (*options.lse)(b, h, i) = T((double(sum.m) + std::log2(double(sum.l))) * ln2);
  }
};

// Stored bytes of the keys and values that some row of one (batch, KV head) is offered.
template <class T, class Stored>
std::ptrdiff_t offered_bytes(const std::vector<Interval>& rows, std::ptrdiff_t real_len,
                             const Definition<T, Stored>& call) {
  std::ptrdiff_t keys = 0;
  for (std::ptrdiff_t position = 0; position < real_len; ++position) {
    for (const Interval& row : rows) {
      if (row.begin <= position && position < row.end) {
        ++keys;
        break;
      }
    }
  }
  return keys * (call.k.extents[3] + call.v.extents[3]) * static_cast<std::ptrdiff_t>(sizeof(Stored));
}

}  // namespace

template <class T, class Stored>
AttentionReport attention_definition(View<const T, 4> q, View<const Stored, 4> k, View<const Stored, 4> v,
                                     View<T, 4> out, const AttentionOptions<T>& options) {
  const Definition<T, Stored> call{q, k, v, out, options};
  const auto [batch, n_heads, q_len, head_dim] = q.extents;
  const std::ptrdiff_t n_kv_heads = k.extents[1], kv_len = k.extents[2];
  AttentionReport report;
  for (std::ptrdiff_t b = 0; b < batch; ++b) {
    const std::vector<std::ptrdiff_t> real = real_keys(options, b, kv_len);
    std::vector<Interval> rows;
    for (std::ptrdiff_t i = 0; i < q_len; ++i) rows.push_back(offered(options, real, b, i, q_len, kv_len));
    for (std::ptrdiff_t h = 0; h < n_heads; ++h) {
      const std::ptrdiff_t hkv = h / (n_heads / n_kv_heads);
      for (std::ptrdiff_t i = 0; i < q_len; ++i)
        call.row(b, h, i, hkv, rows[static_cast<std::size_t>(i)], real, report);
    }
    report.bytes_read += n_kv_heads * offered_bytes(rows, std::ssize(real), call);
  }
  return report;
}

template AttentionReport attention_definition(View<const float, 4>, View<const float, 4>,
                                              View<const float, 4>, View<float, 4>,
                                              const AttentionOptions<float>&);
template AttentionReport attention_definition(View<const double, 4>, View<const double, 4>,
                                              View<const double, 4>, View<double, 4>,
                                              const AttentionOptions<double>&);
template AttentionReport attention_definition(View<const float, 4>, View<const bf16, 4>, View<const bf16, 4>,
                                              View<float, 4>, const AttentionOptions<float>&);
template AttentionReport attention_definition(View<const float, 4>, View<const f16, 4>, View<const f16, 4>,
                                              View<float, 4>, const AttentionOptions<float>&);

}  // namespace rapt::reference
