// The floating-point mode that results are defined in, whatever mode the caller's thread is in.
#pragma once

#include <cstdint>

namespace rapt {

/// While it lives: rounds to nearest even, keeps subnormals, traps nothing. Then the thread's mode is what it
/// was. The sticky flags are no mode; they are raised as by any arithmetic. Some nanoseconds; a mode that is
/// standard already is not written. First in every function of the API that computes, and in every task.
class StandardFloatMode {
 public:
  StandardFloatMode() noexcept : callers_(read()) {
    if ((callers_ & control) != standard) write(standard);
  }
  ~StandardFloatMode() {
    if ((callers_ & control) != standard) write(callers_);
  }
  StandardFloatMode(const StandardFloatMode&) = delete;
  StandardFloatMode& operator=(const StandardFloatMode&) = delete;

 private:
  // "memory": what computes behind a call or in memory is not moved across a change of mode.
#if defined(__x86_64__)
  using Register = std::uint32_t;
  static constexpr Register standard = 0x1F80,
                            control = 0xFFC0;  // MXCSR; the lower six bits are sticky flags
  static Register read() noexcept {
    Register mode;
    asm volatile("stmxcsr %0" : "=m"(mode)::"memory");
    return mode;
  }
  static void write(Register mode) noexcept { asm volatile("ldmxcsr %0" ::"m"(mode) : "memory"); }
#elif defined(__aarch64__)
  using Register = std::uint64_t;
  static constexpr Register standard = 0, control = ~Register{0};  // FPCR
  static Register read() noexcept {
    Register mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode)::"memory");
    return mode;
  }
  static void write(Register mode) noexcept { asm volatile("msr fpcr, %0" ::"r"(mode) : "memory"); }
#endif

  Register callers_;
};

}  // namespace rapt
