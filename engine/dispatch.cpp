#include "dispatch.hpp"

#include <rapt/error.hpp>
#include <rapt/info.hpp>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rapt {
namespace {

#if defined(__x86_64__)
// clang 14 does not know __builtin_cpu_supports("f16c"): CPUID leaf 1, ECX bit 29. AVX's operating-system
// support covers it.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 29)) != 0;
}

// Every compile flag of the ISA files (CMakeLists.txt, rapt_isa) is a checked feature here.
bool runs_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
}
bool runs_avx512() {
  return runs_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

std::vector<Isa> probe() {
  __builtin_cpu_init();
  return {
      {&kernels::avx512_kernels, "avx512f avx512cd avx512dq avx512bw avx512vl avx2 fma f16c", runs_avx512(),
       true},
      {&kernels::avx2_kernels, "avx2 fma f16c", runs_avx2(), true},
      {&kernels::baseline_kernels, "sse2", true, false},
  };
}
#elif defined(__aarch64__)
std::vector<Isa> probe() { return {{&kernels::neon_kernels, "neon", true, true}}; }
#endif

const kernels::KernelTable* choose() {
  const char* forced = std::getenv("RAPT_ISA");
  std::string known;
  for (const Isa& isa : compiled_isas()) {
    if (forced == nullptr || *forced == '\0') {
      if (isa.runnable) return isa.table;
    } else if (std::string_view(forced) == isa.table->name) {
      if (isa.runnable) return isa.table;
      throw invalid_input("RAPT_ISA: " + std::string(forced) + " cannot run on this machine, it needs " +
                          isa.features);
    }
    known += known.empty() ? "" : ", ";
    known += isa.table->name;
  }
  throw invalid_input("RAPT_ISA: unknown ISA '" + std::string(forced) + "', expected one of " + known);
}

std::atomic<const kernels::KernelTable*> active{nullptr};

}  // namespace

const std::vector<Isa>& compiled_isas() {
  static const std::vector<Isa> isas = probe();
  return isas;
}

const kernels::KernelTable& active_kernels() {
  const kernels::KernelTable* table = active.load(std::memory_order_acquire);
  if (table == nullptr) {
    table = choose();
    active.store(table, std::memory_order_release);
  }
  return *table;
}

ScopedIsa::ScopedIsa(const kernels::KernelTable& table) : previous_(active.exchange(&table)) {}
ScopedIsa::~ScopedIsa() { active.store(previous_); }

const char* isa() { return active_kernels().name; }

}  // namespace rapt
