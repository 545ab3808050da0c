// Operations on a cache and on its model.
#include "support/kv_model.hpp"

#include <rapt/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "reference/attention_definition.hpp"
#include "support/answer.hpp"
#include "support/fill.hpp"
#include "support/place.hpp"

namespace rapt::test {
namespace {

using Size = std::ptrdiff_t;

template <class S>
using ElementOf = std::conditional_t<std::is_same_v<S, double>, double, float>;

template <class S>
constexpr Dtype dtype_of = std::is_same_v<S, double>  ? Dtype::f64
                           : std::is_same_v<S, float> ? Dtype::f32
                           : std::is_same_v<S, bf16>  ? Dtype::bf16
                                                      : Dtype::f16;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// The arguments of one operation.
template <class S>
struct KvArguments {
  using T = ElementOf<S>;
  Array<4> q, k, v;
  std::optional<Array<2>> mask;
  std::optional<double> scale;
  double softcap = 0;
  std::optional<RopeOptions> rope;

  KvArguments(const KvSetting& setting, const KvOperation& operation) {
    const Size len = operation.size;
    const auto draw = [&](std::uint64_t stream, std::array<Size, 4> shape) {
      Array<4> array(shape);
      for (std::size_t i = 0; i < array.values.size(); ++i)
        array.values[i] = static_cast<T>(2 * random_unit(operation.seed, stream, i));
      return array;
    };
    q = draw(0, {setting.batch, setting.n_kv_heads * setting.group, len, setting.head_dim});
    k = draw(1, {setting.batch, setting.n_kv_heads, len, setting.head_dim});
    v = draw(2, {setting.batch, setting.n_kv_heads, len, setting.v_dim});
    if (operation.careful) {
      scale = random_unit(operation.seed, 3, 0);
      softcap = random_below(operation.seed, 3, 1, 2) == 0 ? 0 : 1.5;
    }
    if (operation.rotated && setting.head_dim % 2 == 0)
      rope = RopeOptions{.base = random_below(operation.seed, 4, 0, 2) == 0 ? 10000.0 : 7.0,
                         .interleaved = random_below(operation.seed, 4, 1, 2) == 0};
    // A NaN token now and then: it must reach the rows that see it, and be gone once rolled back.
    if (len > 0 && random_below(operation.seed, 5, 0, 8) == 0)
      plant(k, 0, random_below(operation.seed, 5, 1, static_cast<std::uint64_t>(len)));
    if (operation.masked) draw_mask(setting, operation);
  }

  void draw_mask(const KvSetting& setting, const KvOperation& operation) {
    mask.emplace(std::array{setting.batch, operation.size});
    for (Size b = 0; b < setting.batch; ++b) {
      const auto kind = random_below(operation.seed, 6, static_cast<std::uint64_t>(b), 5);
      for (Size t = 0; t < operation.size; ++t) {
        const auto toss = random_below(operation.seed, 7 + static_cast<std::uint64_t>(b),
                                       static_cast<std::uint64_t>(t), 10);
        const bool real = kind == 0   ? false
                          : kind == 1 ? 2 * t >= operation.size
                          : kind == 2 ? toss < 3
                                      : toss < 8;
        (*mask)(b, t) = real;
        if (!real) plant(k, b, static_cast<std::uint64_t>(t)), plant(v, b, static_cast<std::uint64_t>(t));
      }
    }
  }
  static void plant(Array<4>& array, Size b, std::uint64_t t) {
    for (Size h = 0; h < array.extents[1]; ++h) array(b, h, static_cast<Size>(t), 0) = nan_value;
  }
  bool real(Size b, Size t) const { return !mask || (*mask)(b, t) != 0; }
};

/// Dense typed copies of an operation's arrays.
template <class E, int N>
struct Typed {
  std::vector<E> elements;
  std::vector<std::uint8_t> bytes;  // of bool
  std::array<Size, N> extents;

  explicit Typed(const Array<N>& array) : extents(array.extents) {
    for (const double value : array.values) {
      if constexpr (std::is_same_v<E, bool>)
        bytes.push_back(value != 0);
      else
        elements.push_back(encode<E>(value));
    }
  }
  View<const E, N> view() const {
    View<const E, N> view;
    if constexpr (std::is_same_v<E, bool>)
      view.data = reinterpret_cast<const bool*>(bytes.data());
    else
      view.data = elements.data();
    Size stride = 1;
    view.extents = extents;
    for (std::size_t axis = N; axis-- > 0; stride *= extents[axis]) view.strides[axis] = stride;
    return view;
  }
};

template <class T>
void rotate(double* row, Size dim, Size position, const RopeOptions& options) {
  std::vector<T> x(row, row + dim);
  const std::int64_t at = position;
  rope(contiguous<const T>(x.data(), {1, 1, 1, dim}), contiguous<const std::int64_t>(&at, {1}),
       contiguous(x.data(), {1, 1, 1, dim}), options);
  std::copy(x.begin(), x.end(), row);
}

/// The real tokens of a chunk behind what is there.
template <class S>
void remember(const KvSetting& setting, const KvArguments<S>& arguments, Size b, KvHistory& history) {
  const Dtype dtype = dtype_of<S>;
  for (Size t = 0; t < arguments.k.extents[2]; ++t) {
    if (!arguments.real(b, t)) continue;
    for (Size h = 0; h < setting.n_kv_heads; ++h) {
      std::vector<double> key(&arguments.k.values[arguments.k.offset(b, h, t, 0)],
                              &arguments.k.values[arguments.k.offset(b, h, t, 0)] + setting.head_dim);
      if (arguments.rope) rotate<ElementOf<S>>(key.data(), setting.head_dim, history.length, *arguments.rope);
      for (const double x : key) history.k.push_back(rounded_to(dtype, x));
      for (Size j = 0; j < setting.v_dim; ++j)
        history.v.push_back(rounded_to(dtype, arguments.v(b, h, t, j)));
    }
    ++history.length;
  }
  history.first = std::max(history.first, history.length - setting.capacity);
}

/// Row t of sequence b over the first `end` tokens of a history, by definition.
template <class S>
void define_row(const KvSetting& setting, bool exact, const KvArguments<S>& arguments, Size b, Size t,
                const std::vector<S>& keys, const std::vector<S>& values, Size end, Array<4>& out) {
  using T = ElementOf<S>;
  const Size n_heads = setting.n_kv_heads * setting.group;
  std::vector<T> q, row(static_cast<std::size_t>(n_heads * setting.v_dim));
  for (Size h = 0; h < n_heads; ++h) {
    std::vector<double> x(&arguments.q.values[arguments.q.offset(b, h, t, 0)],
                          &arguments.q.values[arguments.q.offset(b, h, t, 0)] + setting.head_dim);
    if (arguments.rope && end > 0) rotate<T>(x.data(), setting.head_dim, end - 1, *arguments.rope);
    for (const double each : x) q.push_back(static_cast<T>(each));
  }
  const auto history = [&](const std::vector<S>& of, Size dim) {
    return View<const S, 4>{
        of.data(), {1, setting.n_kv_heads, end, dim}, {0, dim, setting.n_kv_heads * dim, 1}};
  };
  AttentionOptions<T> options;
  options.causal = Causal::bottom_right;
  options.window = setting.window;
  options.scale = arguments.scale;
  if (arguments.softcap != 0) options.softcap = static_cast<T>(arguments.softcap);
  const auto q_view = contiguous<const T>(q.data(), {1, n_heads, 1, setting.head_dim});
  const auto out_view = contiguous(row.data(), {1, n_heads, 1, setting.v_dim});
  if (exact)
    reference::attention_definition<T, S>(q_view, history(keys, setting.head_dim),
                                          history(values, setting.v_dim), out_view, options);
  else
    attention(q_view, history(keys, setting.head_dim), history(values, setting.v_dim), out_view, options);
  for (Size h = 0; h < n_heads; ++h)
    for (Size j = 0; j < setting.v_dim; ++j)
      out(b, h, t, j) = static_cast<double>(row[static_cast<std::size_t>(h * setting.v_dim + j)]);
}

template <class S>
std::vector<S> encoded(const std::vector<double>& values) {
  std::vector<S> typed;
  for (const double value : values) typed.push_back(encode<S>(value));
  return typed;
}

/// What a call says and gives: rows by their ends (0: sees nothing), and the report of the closed form.
template <class S>
Answer expect(const KvSetting& setting, bool exact, const KvArguments<S>& arguments,
              const std::vector<KvHistory>& histories, const std::vector<std::vector<Size>>& ends) {
  const Size n_heads = setting.n_kv_heads * setting.group, len = arguments.q.extents[2];
  Answer answer;
  answer.out = Array<4>({setting.batch, n_heads, len, setting.v_dim});
  for (Size b = 0; b < setting.batch; ++b) {
    const KvHistory& history = histories[static_cast<std::size_t>(b)];
    const std::vector<S> keys = encoded<S>(history.k), values = encoded<S>(history.v);
    std::vector<bool> read(static_cast<std::size_t>(history.length));
    for (Size t = 0; t < len; ++t) {
      const Size end = ends[static_cast<std::size_t>(b)][static_cast<std::size_t>(t)];
      const Size seen = std::min(end, setting.window.value_or(end));
      define_row(setting, exact, arguments, b, t, keys, values, end, answer.out);
      answer.report.dot_products += n_heads * seen;
      for (Size position = end - seen; position < end; ++position)
        read[static_cast<std::size_t>(position)] = true;
    }
    answer.report.bytes_read += std::count(read.begin(), read.end(), true) * setting.n_kv_heads *
                                (setting.head_dim + setting.v_dim) * static_cast<Size>(sizeof(S));
  }
  answer.report.visible_pairs = answer.report.dot_products;
  return answer;
}

}  // namespace

std::string format(const KvSetting& s) {
  const char* const names[]{"f32", "f64", "bf16", "f16"};
  return "b" + std::to_string(s.batch) + " hkv" + std::to_string(s.n_kv_heads) + " group" +
         std::to_string(s.group) + " d" + std::to_string(s.head_dim) + " dv" + std::to_string(s.v_dim) +
         " capacity" + std::to_string(s.capacity) +
         (s.window ? " w" + std::to_string(*s.window) : std::string()) + " " +
         names[static_cast<int>(s.dtype)];
}

std::string format(const KvOperation& o) {
  const char* const names[]{"append", "attend",        "query",      "rollback", "rollback_each",
                            "clear",  "copy_sequence", "copy_cache", "read"};
  return std::string(names[static_cast<int>(o.verb)]) + " " + std::to_string(o.size) +
         (o.masked ? " masked" : "") + (o.rotated ? " rotated" : "") + (o.careful ? " careful" : "") + " s" +
         std::to_string(o.seed);
}

KvModel::KvModel(const KvSetting& setting, bool exact)
    : setting_(setting),
      exact_(exact),
      cache_(std::make_unique<KvCache>(setting.options())),
      histories_(static_cast<std::size_t>(setting.batch)) {}
KvModel::~KvModel() = default;

std::string KvModel::apply(const KvOperation& operation) {
  switch (setting_.dtype) {
    case KvDtype::f32:
      return apply_as<float>(operation);
    case KvDtype::f64:
      return apply_as<double>(operation);
    case KvDtype::bf16:
      return apply_as<bf16>(operation);
    case KvDtype::f16:
      return apply_as<f16>(operation);
  }
  return "unknown dtype";
}

template <class S>
std::string KvModel::apply_as(const KvOperation& operation) {
  using T = ElementOf<S>;
  const KvSetting& s = setting_;
  const KvArguments<S> arguments(s, operation);
  const Typed<T, 4> q(arguments.q), k(arguments.k), v(arguments.v);
  std::optional<Typed<bool, 2>> mask;
  std::optional<View<const bool, 2>> mask_view;
  if (arguments.mask) mask_view = mask.emplace(*arguments.mask).view();
  const Size n_heads = s.n_kv_heads * s.group, len = operation.size;
  constexpr T untouched = T(-77);
  std::vector<T> out(static_cast<std::size_t>(s.batch * n_heads * len * s.v_dim), untouched);
  const View<T, 4> out_view = contiguous(out.data(), {s.batch, n_heads, len, s.v_dim});
  std::vector<KvHistory> after = histories_;
  std::vector<std::vector<Size>> ends(static_cast<std::size_t>(s.batch));
  bool allowed = true;
  AttentionReport report;

  const auto call = [&](auto&& function) {
    try {
      function();
      return true;
    } catch (const invalid_input&) {
      return false;
    }
  };
  const auto needs_held = [&](const KvHistory& history, Size end) {
    if (end > 0 && s.window && end - *s.window > 0 && end - *s.window < history.first) allowed = false;
  };
  const auto drop_to = [&](KvHistory& history, Size length) {
    if (length == 0) {
      history = {};
      return;
    }
    if (length < 0 || length > history.length ||
        (history.first > 0 && length + 1 - *s.window < history.first)) {
      allowed = false;
      return;
    }
    history.k.resize(static_cast<std::size_t>(length * s.n_kv_heads * s.head_dim));
    history.v.resize(static_cast<std::size_t>(length * s.n_kv_heads * s.v_dim));
    history.length = length;
  };
  const auto pick = [&](std::uint64_t index, Size end) {
    return static_cast<Size>(random_below(operation.seed, 9, index, static_cast<std::uint64_t>(end)));
  };

  std::optional<Answer> expected;
  bool done = false;
  switch (operation.verb) {
    case KvVerb::append:
    case KvVerb::attend: {
      for (Size b = 0; b < s.batch; ++b) {
        KvHistory& history = after[static_cast<std::size_t>(b)];
        Size end = history.length;
        for (Size t = 0; t < len; ++t) {
          end += arguments.real(b, t);
          ends[static_cast<std::size_t>(b)].push_back(end);
          if (operation.verb == KvVerb::attend) needs_held(history, end);
        }
        if (!s.window && end > s.capacity) allowed = false;
      }
      if (allowed)
        for (Size b = 0; b < s.batch; ++b) remember(s, arguments, b, after[static_cast<std::size_t>(b)]);
      done = call([&] {
        if (operation.verb == KvVerb::append)
          cache_->append(k.view(), v.view(), {mask_view, arguments.rope});
        else
          report = cache_->attend(q.view(), k.view(), v.view(), out_view,
                                  {mask_view, arguments.scale, arguments.softcap, arguments.rope});
      });
      if (operation.verb == KvVerb::attend && allowed) expected = expect(s, exact_, arguments, after, ends);
      break;
    }
    case KvVerb::query: {
      for (Size b = 0; b < s.batch; ++b) {
        const KvHistory& history = histories_[static_cast<std::size_t>(b)];
        Size real = 0;
        for (Size t = 0; t < len; ++t) real += arguments.real(b, t);
        Size end = history.length - real;
        for (Size t = 0; t < len; ++t) {
          const bool is_real = arguments.real(b, t);
          end += is_real;
          ends[static_cast<std::size_t>(b)].push_back(is_real && end > 0 ? end : 0);
          if (is_real) needs_held(history, end);
        }
      }
      const KvCache& cache = *cache_;
      done = call([&] {
        report =
            cache.query(q.view(), out_view, {mask_view, arguments.scale, arguments.softcap, arguments.rope});
      });
      if (allowed) expected = expect(s, exact_, arguments, histories_, ends);
      break;
    }
    case KvVerb::rollback: {
      Size most = 1;
      for (const KvHistory& history : histories_) most = std::max(most, history.length + 2);
      const Size length = std::max(most - 1 - pick(0, 3) * len - pick(1, 4), Size{0});
      for (KvHistory& history : after) drop_to(history, length);
      done = call([&] { cache_->rollback(length); });
      break;
    }
    case KvVerb::rollback_each: {
      std::vector<Size> lengths;
      for (std::size_t b = 0; b < after.size(); ++b) {
        lengths.push_back(std::max(after[b].length - pick(b, len + 2), Size{0}));
        drop_to(after[b], lengths.back());
      }
      done = call([&] { cache_->rollback(lengths); });
      break;
    }
    case KvVerb::clear:
      for (KvHistory& history : after) history = {};
      cache_->clear();
      done = true;
      break;
    case KvVerb::copy_sequence: {
      const Size source = pick(0, s.batch + 1), target = pick(1, s.batch);
      allowed = source < s.batch;
      if (allowed) after[static_cast<std::size_t>(target)] = after[static_cast<std::size_t>(source)];
      done = call([&] { cache_->copy_sequence(source, target); });
      break;
    }
    case KvVerb::copy_cache: {
      KvCache copy(*cache_);
      if (pick(0, 2) == 0)
        *cache_ = copy;
      else
        *cache_ = std::move(copy);
      done = true;
      break;
    }
    case KvVerb::read:
      done = true;
      break;
  }

  std::string wrong;
  if (done != allowed) wrong += allowed ? "refused what is allowed\n" : "did what is to be refused\n";
  if (done && allowed) histories_ = after;
  if (expected && done) {
    Answer answer;
    answer.out = Array<4>(out_view.extents);
    std::copy(out.begin(), out.end(), answer.out.values.begin());
    answer.report = report;
    wrong += difference(*expected, answer);
  } else if (std::any_of(out.begin(), out.end(), [](T x) { return x != untouched; })) {
    wrong += "out was touched\n";
  }

  for (Size b = 0; b < s.batch; ++b) {
    const KvHistory& history = histories_[static_cast<std::size_t>(b)];
    const KvPositions held = cache_->positions(b);
    if (held.begin != history.first || held.end != history.length || cache_->length(b) != history.length) {
      wrong += "sequence " + std::to_string(b) + " holds [" + std::to_string(held.begin) + ", " +
               std::to_string(held.end) + "), expected [" + std::to_string(history.first) + ", " +
               std::to_string(history.length) + ")\n";
      continue;
    }
    if (operation.verb == KvVerb::query || operation.verb == KvVerb::attend) continue;
    const Size count = held.end - held.begin;
    const auto compare = [&](const char* what, Size dim, const std::vector<double>& expected_rows,
                             auto&& read) {
      std::vector<T> rows(static_cast<std::size_t>(s.n_kv_heads * count * dim));
      read(contiguous(rows.data(), {s.n_kv_heads, count, dim}));
      Array<3> is({s.n_kv_heads, count, dim}), should({s.n_kv_heads, count, dim});
      std::copy(rows.begin(), rows.end(), is.values.begin());
      for (Size h = 0; h < s.n_kv_heads; ++h)
        for (Size i = 0; i < count; ++i)
          for (Size u = 0; u < dim; ++u)
            should(h, i, u) =
                expected_rows[static_cast<std::size_t>(((history.first + i) * s.n_kv_heads + h) * dim + u)];
      wrong += difference(what, should, is);
    };
    compare("keys", s.head_dim, history.k, [&](const View<T, 3>& rows) { cache_->keys(b, rows); });
    compare("values", s.v_dim, history.v, [&](const View<T, 3>& rows) { cache_->values(b, rows); });
  }
  return wrong;
}

std::string run_schedule(const KvSetting& setting, const std::vector<KvOperation>& operations, bool exact) {
  KvModel model(setting, exact);
  std::string so_far = format(setting);
  for (const KvOperation& operation : operations) {
    so_far += "; " + format(operation);
    const std::string wrong = model.apply(operation);
    if (!wrong.empty()) return so_far + "\n" + wrong;
  }
  return {};
}

}  // namespace rapt::test
