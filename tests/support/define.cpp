// The definition on a problem's data.
#include "reference/attention_definition.hpp"
#include "support/typed_call.hpp"

namespace rapt::test {

Answer define(const Data& data, const Call& call) {
  return call_by_dtype(
      data, call,
      []<class T, class Stored>(View<const T, 4> q, View<const Stored, 4> k, View<const Stored, 4> v,
                                View<T, 4> out, const AttentionOptions<T>& options) {
        return reference::attention_definition(q, k, v, out, options);
      });
}

}  // namespace rapt::test
