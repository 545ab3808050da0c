// libFuzzer target of KvCache: the bytes choose a cache and a schedule of operations; every answer must be
// the definition's over the whole history, on every ISA.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdio>
#include <cstdlib>

#include "support/isas.hpp"
#include "support/kv_model.hpp"

using namespace rapt;
using namespace rapt::test;

namespace {

KvSetting setting_from(FuzzedDataProvider& bytes) {
  const auto upto = [&](std::ptrdiff_t most) {
    return bytes.ConsumeIntegralInRange<std::ptrdiff_t>(0, most);
  };
  KvSetting setting;
  setting.dtype = bytes.PickValueInArray({KvDtype::f32, KvDtype::f64, KvDtype::bf16, KvDtype::f16});
  setting.batch = 1 + upto(2);
  setting.n_kv_heads = 1 + upto(1);
  setting.group = 1 + upto(2);
  setting.head_dim = 1 + upto(17);
  setting.v_dim = 1 + upto(17);
  setting.capacity = 1 + upto(bytes.ConsumeBool() ? 20 : 600);
  if (bytes.ConsumeBool()) setting.window = 1 + upto(setting.capacity - 1);
  setting.seed = bytes.ConsumeIntegral<std::uint8_t>();
  return setting;
}

KvOperation operation_from(FuzzedDataProvider& bytes) {
  KvOperation operation;
  operation.verb = bytes.PickValueInArray({KvVerb::append, KvVerb::attend, KvVerb::query, KvVerb::rollback,
                                           KvVerb::rollback_each, KvVerb::clear, KvVerb::copy_sequence,
                                           KvVerb::copy_cache, KvVerb::read});
  // Rows cost the definition a pass over the history.
  const std::ptrdiff_t most = operation.verb == KvVerb::append ? 600 : 30;
  operation.size = bytes.ConsumeIntegralInRange<std::ptrdiff_t>(0, bytes.ConsumeBool() ? 5 : most);
  operation.masked = bytes.ConsumeBool();
  operation.rotated = bytes.ConsumeBool();
  operation.careful = bytes.ConsumeBool();
  operation.seed = bytes.ConsumeIntegral<std::uint16_t>();
  return operation;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  FuzzedDataProvider provider(bytes, size);
  const KvSetting setting = setting_from(provider);
  std::vector<KvOperation> operations;
  while (provider.remaining_bytes() > 0 && operations.size() < 24)
    operations.push_back(operation_from(provider));
  for_each_isa([&](const Isa& isa) {
    const std::string wrong = run_schedule(setting, operations, isa.has_fma);
    if (wrong.empty()) return;
    std::fprintf(stderr, "%s: %s\n", isa.table->name, wrong.c_str());
    std::abort();
  });
  return 0;
}
