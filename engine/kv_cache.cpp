// KvCache: every call is checked, then done by the cache of the storage type.
#include <rapt/kv_cache.hpp>

#include <utility>

#include "dispatch.hpp"
#include "float_mode.hpp"
#include "kv_cache_state.hpp"

namespace rapt {
namespace {

KvCacheOptions completed(KvCacheOptions options) {
  check_options(options);
  options.v_dim = options.v_dim.value_or(options.head_dim);
  return options;
}

template <class S, class In>
constexpr bool takes = std::is_same_v<In, S> || std::is_same_v<In, ArithmeticOf<S>>;

template <class State, class In>
void append_to(State& state, const View<const In, 4>& k, const View<const In, 4>& v,
               const KvAppendOptions& options) {
  const StandardFloatMode mode;
  state.visit([&]<class S>(const KvFacts& facts, TypedKvCache<S>& cache) {
    if constexpr (takes<S, In>) {
      check_append(facts, footprint("k", k_axes, k), footprint("v", v_axes, v), options);
      cache.append(k, v, options);
    } else {
      refuse_element("k", kv_dtype<In>, facts.options.dtype);
    }
  });
}

template <class State, class T, class In>
AttentionReport attend_to(State& state, const View<const T, 4>& q, const View<const In, 4>& k,
                          const View<const In, 4>& v, const View<T, 4>& out, const KvAttendOptions& options) {
  const StandardFloatMode mode;
  return state.visit([&]<class S>(const KvFacts& facts, TypedKvCache<S>& cache) -> AttentionReport {
    if constexpr (!std::is_same_v<T, ArithmeticOf<S>>) {
      refuse_element("q", kv_dtype<T>, facts.options.dtype);
    } else if constexpr (!takes<S, In>) {
      refuse_element("k", kv_dtype<In>, facts.options.dtype);
    } else {
      check_attend(facts, footprint("q", q_axes, q), footprint("k", k_axes, k), footprint("v", v_axes, v),
                   footprint("out", out_axes, out), options);
      return cache.attend(q, k, v, out, options);
    }
  });
}

template <class State, class T>
AttentionReport query_from(const State& state, const View<const T, 4>& q, const View<T, 4>& out,
                           const KvQueryOptions& options) {
  const StandardFloatMode mode;
  return state.visit([&]<class S>(const KvFacts& facts, const TypedKvCache<S>& cache) -> AttentionReport {
    if constexpr (std::is_same_v<T, ArithmeticOf<S>>) {
      check_query(facts, footprint("q", q_axes, q), footprint("out", out_axes, out), options);
      return cache.query(q, out, options);
    } else {
      refuse_element("q", kv_dtype<T>, facts.options.dtype);
    }
  });
}

/// Reads keys or values back.
template <class State, class T>
void read(const State& state, std::ptrdiff_t b, const View<T, 3>& out, bool keys) {
  state.visit([&]<class S>(const KvFacts& facts, const TypedKvCache<S>& cache) {
    if constexpr (std::is_same_v<T, ArithmeticOf<S>>) {
      check_sequence(facts, "b", b);
      const char* const dim_name = keys ? "head_dim" : "v_dim";
      check_read(facts, b, footprint("out", {"n_kv_heads", "held", dim_name}, out),
                 keys ? facts.options.head_dim : *facts.options.v_dim, dim_name);
      if (keys)
        cache.store().read_keys(b, cache.sequence(b), out);
      else
        cache.store().read_values(b, cache.sequence(b), out);
    } else {
      refuse_element("out", kv_dtype<T>, facts.options.dtype);
    }
  });
}

template <class State>
void roll_back(State& state, const View<const std::ptrdiff_t, 1>& lengths) {
  state.visit([&](const KvFacts& facts, auto& cache) {
    check_rollback(facts, lengths);
    for (std::ptrdiff_t b = 0; b < lengths.extents[0]; ++b) cache.cut(b, lengths(b));
  });
}

}  // namespace

std::ptrdiff_t kv_cache_bytes(const KvCacheOptions& options) {
  const KvCacheOptions complete = completed(options);
  const Size element = complete.dtype == KvDtype::f64 ? 8 : complete.dtype == KvDtype::f32 ? 4 : 2;
  return arena_bytes(layout_of(complete, active_kernels()), element);
}

KvCache::KvCache(const KvCacheOptions& options)
    : state_(std::make_unique<State>(completed(options), active_kernels())) {}
KvCache::KvCache(const KvCache& other) : state_(std::make_unique<State>(*other.state_)) {}
KvCache::KvCache(KvCache&& other) noexcept = default;
KvCache& KvCache::operator=(const KvCache& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}
KvCache& KvCache::operator=(KvCache&& other) noexcept = default;
KvCache::~KvCache() = default;

void KvCache::append(View<const float, 4> k, View<const float, 4> v, const KvAppendOptions& options) {
  append_to(*state_, k, v, options);
}
void KvCache::append(View<const double, 4> k, View<const double, 4> v, const KvAppendOptions& options) {
  append_to(*state_, k, v, options);
}
void KvCache::append(View<const bf16, 4> k, View<const bf16, 4> v, const KvAppendOptions& options) {
  append_to(*state_, k, v, options);
}
void KvCache::append(View<const f16, 4> k, View<const f16, 4> v, const KvAppendOptions& options) {
  append_to(*state_, k, v, options);
}

AttentionReport KvCache::attend(View<const float, 4> q, View<const float, 4> k, View<const float, 4> v,
                                View<float, 4> out, const KvAttendOptions& options) {
  return attend_to(*state_, q, k, v, out, options);
}
AttentionReport KvCache::attend(View<const double, 4> q, View<const double, 4> k, View<const double, 4> v,
                                View<double, 4> out, const KvAttendOptions& options) {
  return attend_to(*state_, q, k, v, out, options);
}
AttentionReport KvCache::attend(View<const float, 4> q, View<const bf16, 4> k, View<const bf16, 4> v,
                                View<float, 4> out, const KvAttendOptions& options) {
  return attend_to(*state_, q, k, v, out, options);
}
AttentionReport KvCache::attend(View<const float, 4> q, View<const f16, 4> k, View<const f16, 4> v,
                                View<float, 4> out, const KvAttendOptions& options) {
  return attend_to(*state_, q, k, v, out, options);
}

AttentionReport KvCache::query(View<const float, 4> q, View<float, 4> out,
                               const KvQueryOptions& options) const {
  return query_from(*state_, q, out, options);
}
AttentionReport KvCache::query(View<const double, 4> q, View<double, 4> out,
                               const KvQueryOptions& options) const {
  return query_from(*state_, q, out, options);
}

std::ptrdiff_t KvCache::length(std::ptrdiff_t b) const { return positions(b).end; }
KvPositions KvCache::positions(std::ptrdiff_t b) const {
  const State& state = *state_;
  return state.visit([&](const KvFacts& facts, const auto& cache) -> KvPositions {
    check_sequence(facts, "b", b);
    return {cache.sequence(b).first, cache.sequence(b).length};
  });
}

void KvCache::rollback(std::ptrdiff_t length) { roll_back(*state_, {&length, {options().batch}, {0}}); }
void KvCache::rollback(std::span<const std::ptrdiff_t> lengths) {
  roll_back(*state_, {lengths.data(), {std::ssize(lengths)}, {1}});
}
void KvCache::clear() noexcept {
  std::visit(
      [&](auto& cache) {
        for (std::ptrdiff_t b = 0; b < options().batch; ++b) cache.cut(b, 0);
      },
      state_->typed);
}

void KvCache::copy_sequence(std::ptrdiff_t source, std::ptrdiff_t target) {
  state_->visit([&](const KvFacts& facts, auto& cache) {
    check_sequence(facts, "source", source);
    check_sequence(facts, "target", target);
    cache.copy_sequence(source, target);
  });
}

void KvCache::keys(std::ptrdiff_t b, View<float, 3> out) const { read(std::as_const(*state_), b, out, true); }
void KvCache::keys(std::ptrdiff_t b, View<double, 3> out) const {
  read(std::as_const(*state_), b, out, true);
}
void KvCache::values(std::ptrdiff_t b, View<float, 3> out) const {
  read(std::as_const(*state_), b, out, false);
}
void KvCache::values(std::ptrdiff_t b, View<double, 3> out) const {
  read(std::as_const(*state_), b, out, false);
}

std::ptrdiff_t KvCache::nbytes() const noexcept {
  return std::visit([](const auto& cache) { return cache.store().nbytes(); }, state_->typed);
}
std::ptrdiff_t KvCache::capacity() const noexcept { return options().capacity; }
std::optional<std::ptrdiff_t> KvCache::window() const noexcept { return options().window; }
const KvCacheOptions& KvCache::options() const noexcept { return state_->options; }

}  // namespace rapt
