// attention() on a problem's data.
#include <rapt/attention.hpp>

#include "support/typed_call.hpp"

namespace rapt::test {

Answer run(const Data& data, const Call& call) {
  return call_by_dtype(data, call, [](auto q, auto k, auto v, auto out, const auto& options) {
    return attention(q, k, v, out, options);
  });
}

}  // namespace rapt::test
