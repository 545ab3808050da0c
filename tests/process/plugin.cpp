// A loadable module with rapt in it, or with a shared rapt beside it, as an interpreter or a server loads it.
#include <tbb/task_arena.h>
#include <rapt/rapt.hpp>

#include <cstdint>

#include "support/everything.hpp"

namespace {

std::uint64_t hash_of(const std::string& bytes) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  return hash;
}

}  // namespace

/// A hash of everything(), computed in an arena of so many threads.
extern "C" __attribute__((visibility("default"))) std::uint64_t rapt_answer(int threads) {
  tbb::task_arena arena(threads);
  return hash_of(arena.execute([] { return rapt::test::everything(); }));
}

/// Whether a refusal is thrown and caught inside.
extern "C" __attribute__((visibility("default"))) bool rapt_refuses() {
  try {
    rapt::alibi_slopes(rapt::contiguous(static_cast<float*>(nullptr), {3}));
  } catch (const rapt::invalid_input&) {
    return true;
  }
  return false;
}
