// RapidCheck's generators of KV caches and schedules. Edges are frequent: blocks of 256, panels, capacity.
#pragma once

#include <rapidcheck.h>

#include <ostream>

#include "support/kv_model.hpp"
#include "support/kv_run.hpp"

namespace rapt::test {

inline void showValue(const KvSetting& setting, std::ostream& os) { os << format(setting); }
inline void showValue(const KvOperation& operation, std::ostream& os) { os << format(operation); }

}  // namespace rapt::test

namespace rapt::test::gen {

enum class Windows { none, some, mixed };

inline rc::Gen<KvSetting> kv_setting(KvDtype dtype, Windows windows = Windows::mixed) {
  return rc::gen::exec([=] {
    KvSetting setting;
    setting.dtype = dtype;
    setting.batch = *rc::gen::element(1, 1, 2, 3);
    setting.n_kv_heads = *rc::gen::element(1, 1, 2);
    setting.group = *rc::gen::element(1, 1, 2, 3);
    setting.head_dim = *rc::gen::oneOf(rc::gen::element(1, 2, 4, 16, 17), rc::gen::inRange(1, 12));
    setting.v_dim = *rc::gen::oneOf(rc::gen::element(1, 8, 16, 33), rc::gen::inRange(1, 12));
    setting.capacity =
        *rc::gen::oneOf(rc::gen::element(1, 15, 16, 17, 255, 256, 257, 512, 513), rc::gen::inRange(1, 700));
    const bool windowed =
        windows == Windows::some || (windows == Windows::mixed && *rc::gen::arbitrary<bool>());
    if (windowed) {
      setting.window =
          *rc::gen::oneOf(rc::gen::just(setting.capacity),
                          rc::gen::map(rc::gen::inRange(1, 20),
                                       [=](int w) { return std::min<std::ptrdiff_t>(w, setting.capacity); }),
                          rc::gen::map(rc::gen::inRange<int>(0, static_cast<int>(setting.capacity)),
                                       [](int w) { return std::ptrdiff_t{1} + w; }));
    }
    return setting;
  });
}

inline rc::Gen<KvOperation> kv_operation() {
  return rc::gen::exec([] {
    KvOperation operation;
    operation.verb = *rc::gen::weightedElement<KvVerb>({{6, KvVerb::append},
                                                        {6, KvVerb::attend},
                                                        {3, KvVerb::query},
                                                        {2, KvVerb::rollback},
                                                        {2, KvVerb::rollback_each},
                                                        {1, KvVerb::clear},
                                                        {1, KvVerb::copy_sequence},
                                                        {1, KvVerb::copy_cache},
                                                        {1, KvVerb::read}});
    // Rows cost the definition a pass over their window, so that most attending chunks are small.
    operation.size = operation.verb == KvVerb::append
                         ? *rc::gen::oneOf(rc::gen::inRange(0, 20), rc::gen::inRange(0, 300),
                                           rc::gen::element(16, 255, 256, 257, 600))
                         : *rc::gen::weightedOneOf<int>({{12, rc::gen::inRange(0, 6)},
                                                         {4, rc::gen::inRange(0, 40)},
                                                         {1, rc::gen::inRange(0, 300)}});
    operation.masked = *rc::gen::element(false, false, true);
    operation.rotated = *rc::gen::element(false, false, false, true);
    operation.careful = *rc::gen::element(false, false, false, true);
    operation.seed = *rc::gen::inRange<std::uint64_t>(0, 1000000000);
    return operation;
  });
}

inline rc::Gen<std::vector<KvOperation>> kv_schedule() {
  return rc::gen::scale(0.12, rc::gen::container<std::vector<KvOperation>>(kv_operation()));
}

/// Consecutive chunks of `len` tokens together: one call, steps of one, sizes around tiles, or anything.
inline rc::Gen<Chunks> chunks_of(std::ptrdiff_t len) {
  return rc::gen::exec([len] {
    Chunks chunks;
    const int kind = *rc::gen::inRange(0, 4);
    for (std::ptrdiff_t left = len; left > 0; left -= chunks.back()) {
      const std::ptrdiff_t next = kind == 0   ? left
                                  : kind == 1 ? 1
                                  : kind == 2 ? *rc::gen::element<std::ptrdiff_t>(1, 7, 16, 64, 255, 256, 257)
                                              : *rc::gen::inRange<std::ptrdiff_t>(0, left + 1);
      chunks.push_back(std::min(next, left));
    }
    return chunks;
  });
}

}  // namespace rapt::test::gen
