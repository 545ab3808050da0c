// attention() on a problem's data.
#include <rapt/attention.hpp>

#include "support/typed_call.hpp"

namespace rapt::test {

Answer run(const Data& data, const Call& call) {
  return call_by_dtype(data, call, [](auto q, auto k, auto v, auto out, const auto& options) {
    return attention(q, k, v, out, options);
  });
}

Answer run_in(FloatMode mode, const Data& data, const Call& call) {
  return call_by_dtype(data, call, [mode](auto q, auto k, auto v, auto out, const auto& options) {
    const ScopedFloatMode scope(mode);
    const AttentionReport report = attention(q, k, v, out, options);
    if (float_mode() != mode) throw std::logic_error("the floating-point mode is not what it was");
    return report;
  });
}

namespace {

template <class T>
Answer merge_as(const Answer& first, const Answer& second) {
  const Placed<T, 4> out1(first.out, Layout::dense), out2(second.out, Layout::dense);
  const Placed<T, 3> lse1(*first.lse, Layout::dense), lse2(*second.lse, Layout::dense);
  Placed<T, 4> out(first.out.extents, Layout::dense);
  Placed<T, 3> lse(first.lse->extents, Layout::dense);
  merge(View<const T, 4>(out1), View<const T, 3>(lse1), View<const T, 4>(out2), View<const T, 3>(lse2),
        out.view(), lse.view());
  Answer answer;
  answer.out = out.take();
  answer.lse = lse.take();
  return answer;
}

}  // namespace

Answer merge_answers(Dtype dtype, const Answer& first, const Answer& second) {
  return dtype == Dtype::f64 ? merge_as<double>(first, second) : merge_as<float>(first, second);
}

}  // namespace rapt::test
