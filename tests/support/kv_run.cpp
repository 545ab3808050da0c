#include "support/kv_run.hpp"

#include <rapt/kv_cache.hpp>

#include "kv_cache_store.hpp"
#include "support/typed_call.hpp"

namespace rapt::test {
namespace {

/// Tokens [first, first + count) of an array of axes [batch, heads, len, dim] or [batch, len].
template <class E, int N>
View<E, N> tokens(View<E, N> view, std::ptrdiff_t first, std::ptrdiff_t count) {
  constexpr std::size_t axis = N == 4 ? 2 : 1;
  view.data += first * view.strides[axis];
  view.extents[axis] = count;
  return view;
}

template <class T, class S>
KvCache cache_for(const View<const S, 4>& k, const View<const S, 4>& v, const AttentionOptions<T>& options,
                  std::ptrdiff_t capacity) {
  return KvCache({.batch = k.extents[0],
                  .n_kv_heads = k.extents[1],
                  .head_dim = k.extents[3],
                  .v_dim = v.extents[3],
                  .capacity = capacity,
                  .window = options.window,
                  .dtype = kv_dtype<S>});
}

}  // namespace

Answer run_cached(const Data& data, const Chunks& chunks, std::ptrdiff_t capacity, const Call& call) {
  return call_by_dtype(
      data, call,
      [&]<class T, class S>(View<const T, 4> q, View<const S, 4> k, View<const S, 4> v, View<T, 4> out,
                            const AttentionOptions<T>& options) {
        KvCache cache = cache_for(k, v, options, capacity);
        const auto key_mask = [&](std::ptrdiff_t first, std::ptrdiff_t count) {
          return options.key_mask ? std::optional(tokens(*options.key_mask, first, count)) : std::nullopt;
        };
        const std::optional<RopeOptions> rope = call.rope ? std::optional(RopeOptions{}) : std::nullopt;
        const std::ptrdiff_t appended = k.extents[2] - q.extents[2];
        cache.append(tokens(k, 0, appended), tokens(v, 0, appended),
                     {.key_mask = key_mask(0, appended), .rope = rope});
        AttentionReport sum;
        std::ptrdiff_t row = 0;
        for (const std::ptrdiff_t count : chunks) {
          const std::ptrdiff_t first = appended + row;
          const KvAttendOptions chunk{.key_mask = key_mask(first, count),
                                      .scale = options.scale,
                                      .softcap = static_cast<double>(options.softcap.value_or(T(0))),
                                      .rope = rope};
          const AttentionReport report =
              cache.attend(tokens(q, row, count), tokens(k, first, count), tokens(v, first, count),
                           tokens(out, row, count), chunk);
          sum.dot_products += report.dot_products;
          sum.visible_pairs += report.visible_pairs;
          sum.bytes_read += report.bytes_read;
          row += count;
        }
        return sum;
      });
}

}  // namespace rapt::test
