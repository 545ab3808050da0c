// rapt.KvCache as the module holds it. rapt::KvCache leaves it to its caller that nobody else is there while
// it is written to; here a lock does, so that Python threads may share a cache.
#pragma once

#include <rapt/kv_cache.hpp>

#include <mutex>
#include <shared_mutex>

#include "arrays.hpp"
#include "threads.hpp"

namespace rapt::python {

class Cache {
 public:
  explicit Cache(const KvCacheOptions& options) : cache_(options) {}

  Element element() const noexcept {
    return cache_.options().dtype == KvDtype::f64 ? Element::f64 : Element::f32;
  }
  Elements own() const noexcept { return {element()}; }
  Elements stored() const noexcept {
    return cache_.options().dtype == KvDtype::f16 ? Elements{Element::f32, Element::f16} : own();
  }
  const KvCacheOptions& options() const noexcept { return cache_.options(); }

  /// Calls body(cache) without the GIL; alone when it writes, beside other readers when it reads.
  template <class Body>
  void write(Body&& body) {
    compute([&] {
      const std::unique_lock lock(mutex_);
      body(cache_);
    });
  }
  template <class Body>
  void read(Body&& body) const {
    compute([&] {
      const std::shared_lock lock(mutex_);
      body(cache_);
    });
  }

 private:
  KvCache cache_;
  mutable std::shared_mutex mutex_;
};

/// What is told of a cache, copied out of it and taken back.
void bind_cache_storage(py::class_<Cache>& type);

}  // namespace rapt::python
