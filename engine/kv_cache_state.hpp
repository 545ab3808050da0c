// What a KvCache points to: the cache of its storage type.
#pragma once

#include <rapt/kv_cache.hpp>

#include <variant>

#include "kv_cache_checks.hpp"
#include "kv_cache_typed.hpp"

namespace rapt {

struct KvCache::State {
  using Typed =
      std::variant<TypedKvCache<float>, TypedKvCache<double>, TypedKvCache<bf16>, TypedKvCache<f16>>;

  KvCacheOptions options;  // v_dim filled in
  Typed typed;

  /// options: checked, v_dim filled in.
  State(const KvCacheOptions& complete, const kernels::KernelTable& table)
      : options(complete), typed(make(complete.dtype, layout_of(complete, table), table)) {}

  /// function(facts, typed cache).
  template <class Function>
  auto visit(Function&& function) {
    return std::visit([&](auto& cache) { return function(facts_of(cache), cache); }, typed);
  }
  template <class Function>
  auto visit(Function&& function) const {
    return std::visit([&](const auto& cache) { return function(facts_of(cache), cache); }, typed);
  }

 private:
  static Typed make(KvDtype dtype, const KvLayout& layout, const kernels::KernelTable& table) {
    switch (dtype) {
      case KvDtype::f64:
        return Typed(std::in_place_type<TypedKvCache<double>>, layout, table);
      case KvDtype::bf16:
        return Typed(std::in_place_type<TypedKvCache<bf16>>, layout, table);
      case KvDtype::f16:
        return Typed(std::in_place_type<TypedKvCache<f16>>, layout, table);
      case KvDtype::f32:
        break;
    }
    return Typed(std::in_place_type<TypedKvCache<float>>, layout, table);
  }
  template <class S>
  KvFacts facts_of(const TypedKvCache<S>& cache) const noexcept {
    return {options, cache.store().layout().ring, cache.sequences()};
  }
};

/// The engine's own way to the stored blocks: textbook arithmetic multiplies with the packed panels
/// themselves.
struct KvCacheAccess {
  /// Of a cache that stores S.
  template <class S>
  static const KvStore<S>& store(const KvCache& cache) noexcept {
    return std::get_if<TypedKvCache<S>>(&cache.state_->typed)->store();
  }
};

}  // namespace rapt
