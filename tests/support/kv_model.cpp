// Operations on a cache and on its model.
#include "support/kv_model.hpp"

#include <rapt/error.hpp>

#include <algorithm>
#include <utility>

#include "support/kv_expect.hpp"

namespace rapt::test {
using Size = std::ptrdiff_t;

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

// One operation on the cache and on a copy of the histories, which become the model's where it is allowed.
template <class S>
class KvModel::Step {
 public:
  using T = ElementOf<S>;

  Step(KvModel& model, const KvOperation& operation)
      : model_(model),
        s_(model.setting_),
        operation_(operation),
        arguments_(s_, operation),
        q_(arguments_.q),
        k_(arguments_.k),
        v_(arguments_.v),
        out_({s_.batch, s_.n_kv_heads * s_.group, operation.size, s_.v_dim}),
        typed_out_(out_.values.size(), untouched),
        after_(model.histories_),
        ends_(after_.size()) {
    if (arguments_.mask) mask_view_ = mask_.emplace(*arguments_.mask).view();
  }

  std::string run() {
    const bool done = act();
    std::string wrong;
    if (done != allowed_) wrong = allowed_ ? "refused what is allowed\n" : "did what is to be refused\n";
    if (done && allowed_) model_.histories_ = after_;
    std::copy(typed_out_.begin(), typed_out_.end(), out_.values.begin());
    if (gives_rows() && done && allowed_) {
      wrong +=
          difference(expect(s_, model_.exact_, arguments_, after_, ends_), Answer{out_, {}, {}, {}, report_});
    } else if (std::any_of(typed_out_.begin(), typed_out_.end(), [](T x) { return x != untouched; })) {
      wrong += "out was touched\n";
    }
    for (Size b = 0; b < s_.batch; ++b) wrong += compare_sequence(b);
    return wrong;
  }

 private:
  static constexpr T untouched = T(-77);

  bool gives_rows() const { return operation_.verb == KvVerb::attend || operation_.verb == KvVerb::query; }
  KvCache& cache() { return *model_.cache_; }
  View<T, 4> out_view() {
    const auto& [batch, n_heads, len, v_dim] = out_.extents;
    return contiguous(typed_out_.data(), {batch, n_heads, len, v_dim});
  }
  /// Uniform in [0, end).
  Size pick(std::uint64_t index, Size end) const {
    return static_cast<Size>(random_below(operation_.seed, 9, index, static_cast<std::uint64_t>(end)));
  }
  template <class Function>
  static bool not_refused(Function function) {
    try {
      function();
      return true;
    } catch (const invalid_input&) {
      return false;
    }
  }

  bool act() {
    switch (operation_.verb) {
      case KvVerb::append:
      case KvVerb::attend:
        return add_tokens();
      case KvVerb::query:
        return query();
      case KvVerb::rollback:
      case KvVerb::rollback_each:
        return roll_back();
      case KvVerb::clear:
        for (KvHistory& history : after_) history = {};
        cache().clear();
        return true;
      case KvVerb::copy_sequence:
        return copy_sequence();
      case KvVerb::copy_cache: {
        KvCache copy(cache());
        if (pick(0, 2) == 0)
          cache() = copy;
        else
          cache() = std::move(copy);
        return true;
      }
      case KvVerb::read:
        return true;
    }
    return false;
  }

  bool add_tokens() {
    for (Size b = 0; b < s_.batch; ++b) {
      Size end = history(b).length;
      for (Size t = 0; t < operation_.size; ++t) {
        end += arguments_.real(b, t);
        ends(b).push_back(end);
        if (operation_.verb == KvVerb::attend) need_held(b, end);
      }
      if (!s_.window && end > s_.capacity) allowed_ = false;
    }
    for (Size b = 0; allowed_ && b < s_.batch; ++b) remember(s_, arguments_, b, history(b));
    return not_refused([&] {
      if (operation_.verb == KvVerb::append)
        cache().append(k_.view(), v_.view(), {mask_view_, arguments_.rope});
      else
        report_ = cache().attend(q_.view(), k_.view(), v_.view(), out_view(),
                                 {mask_view_, arguments_.scale, arguments_.softcap, arguments_.rope});
    });
  }

  bool query() {
    for (Size b = 0; b < s_.batch; ++b) {
      Size end = history(b).length;
      for (Size t = 0; t < operation_.size; ++t) end -= arguments_.real(b, t);
      for (Size t = 0; t < operation_.size; ++t) {
        const bool real = arguments_.real(b, t);
        end += real;
        ends(b).push_back(real && end > 0 ? end : 0);
        if (real) need_held(b, end);
      }
    }
    return not_refused([&] {
      report_ = std::as_const(cache()).query(
          q_.view(), out_view(), {mask_view_, arguments_.scale, arguments_.softcap, arguments_.rope});
    });
  }

  bool roll_back() {
    if (operation_.verb == KvVerb::rollback) {
      Size longest = 0;
      for (const KvHistory& each : after_) longest = std::max(longest, each.length);
      const Size length = std::max(longest + 1 - pick(0, 3) * operation_.size - pick(1, 4), Size{0});
      for (Size b = 0; b < s_.batch; ++b) cut(history(b), length);
      return not_refused([&] { cache().rollback(length); });
    }
    std::vector<Size> lengths;
    for (Size b = 0; b < s_.batch; ++b) {
      lengths.push_back(
          std::max(history(b).length - pick(static_cast<std::uint64_t>(b), operation_.size + 2), Size{0}));
      cut(history(b), lengths.back());
    }
    return not_refused([&] { cache().rollback(lengths); });
  }

  bool copy_sequence() {
    const Size source = pick(0, s_.batch + 1), target = pick(1, s_.batch);
    allowed_ = source < s_.batch;
    if (allowed_) history(target) = history(source);
    return not_refused([&] { cache().copy_sequence(source, target); });
  }

  void need_held(Size b, Size end) {
    const Size begin = s_.window ? std::max(end - *s_.window, Size{0}) : 0;
    if (end > 0 && begin < model_.histories_[static_cast<std::size_t>(b)].first) allowed_ = false;
  }

  void cut(KvHistory& of, Size length) {
    if (length == 0) {
      of = {};
    } else if (length > of.length || (of.first > 0 && length + 1 - *s_.window < of.first)) {
      allowed_ = false;
    } else {
      of.k.resize(static_cast<std::size_t>(length * s_.n_kv_heads * s_.head_dim));
      of.v.resize(static_cast<std::size_t>(length * s_.n_kv_heads * s_.v_dim));
      of.length = length;
    }
  }

  /// Positions, and everything that is held.
  std::string compare_sequence(Size b) {
    const KvHistory& expected = model_.histories_[static_cast<std::size_t>(b)];
    const KvPositions held = cache().positions(b);
    if (held.begin != expected.first || held.end != expected.length || cache().length(b) != expected.length) {
      return "sequence " + std::to_string(b) + " holds [" + std::to_string(held.begin) + ", " +
             std::to_string(held.end) + "), expected [" + std::to_string(expected.first) + ", " +
             std::to_string(expected.length) + ")\n";
    }
    if (gives_rows()) return {};
    return compare_held("keys", expected, expected.k, s_.head_dim,
                        [&](const View<T, 3>& rows) { cache().keys(b, rows); }) +
           compare_held("values", expected, expected.v, s_.v_dim,
                        [&](const View<T, 3>& rows) { cache().values(b, rows); });
  }

  template <class Read>
  std::string compare_held(const char* what, const KvHistory& expected, const std::vector<double>& tokens,
                           Size dim, Read read) {
    const Size held = expected.length - expected.first;
    Array<3> is({s_.n_kv_heads, held, dim}), should(is.extents);
    std::vector<T> rows(is.values.size());
    read(contiguous(rows.data(), {s_.n_kv_heads, held, dim}));
    std::copy(rows.begin(), rows.end(), is.values.begin());
    for (Size h = 0; h < s_.n_kv_heads; ++h) {
      for (Size i = 0; i < held; ++i) {
        const Size at = ((expected.first + i) * s_.n_kv_heads + h) * dim;
        for (Size u = 0; u < dim; ++u) should(h, i, u) = tokens[static_cast<std::size_t>(at + u)];
      }
    }
    return difference(what, should, is);
  }

  KvHistory& history(Size b) { return after_[static_cast<std::size_t>(b)]; }
  std::vector<Size>& ends(Size b) { return ends_[static_cast<std::size_t>(b)]; }

  KvModel& model_;
  const KvSetting& s_;
  const KvOperation& operation_;
  KvArguments<S> arguments_;
  Typed<T, 4> q_, k_, v_;
  std::optional<Typed<bool, 2>> mask_;
  std::optional<View<const bool, 2>> mask_view_;
  Array<4> out_;
  std::vector<T> typed_out_;
  std::vector<KvHistory> after_;
  std::vector<std::vector<Size>> ends_;  // of each row of each sequence; 0 where it sees nothing
  bool allowed_ = true;
  AttentionReport report_;
};

std::string KvModel::apply(const KvOperation& operation) {
  switch (setting_.dtype) {
    case KvDtype::f32:
      return Step<float>(*this, operation).run();
    case KvDtype::f64:
      return Step<double>(*this, operation).run();
    case KvDtype::bf16:
      return Step<bf16>(*this, operation).run();
    case KvDtype::f16:
      return Step<f16>(*this, operation).run();
  }
  return "unknown dtype";
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
