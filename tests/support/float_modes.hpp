// The floating-point mode of the calling thread (MXCSR, FPCR), for tests that call rapt in an unusual one.
#pragma once

namespace rapt::test {

#if defined(__x86_64__)
using FloatMode = unsigned;
inline constexpr FloatMode standard_mode = 0x1F80, flush = 0x8040, upward = 0x4000, to_zero = 0x6000;
inline constexpr FloatMode trapping_mode = standard_mode & ~0x0E80U;  // on invalid, zero divide and overflow
inline FloatMode float_mode() { return __builtin_ia32_stmxcsr() & ~0x3FU; }
inline void set_float_mode(FloatMode mode) { __builtin_ia32_ldmxcsr(mode); }
#else
using FloatMode = unsigned long;
inline constexpr FloatMode standard_mode = 0, flush = 1UL << 24, upward = 1UL << 22, to_zero = 3UL << 22;
inline constexpr FloatMode trapping_mode = standard_mode;  // cores need not trap
inline FloatMode float_mode() {
  FloatMode mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void set_float_mode(FloatMode mode) { asm volatile("msr fpcr, %0" ::"r"(mode)); }
#endif

inline constexpr FloatMode unusual_modes[]{standard_mode | flush, standard_mode | upward,
                                           standard_mode | to_zero, standard_mode | flush | upward,
                                           trapping_mode};

class ScopedFloatMode {
 public:
  explicit ScopedFloatMode(FloatMode mode) { set_float_mode(mode); }
  ~ScopedFloatMode() { set_float_mode(standard_mode); }
  ScopedFloatMode(const ScopedFloatMode&) = delete;
  ScopedFloatMode& operator=(const ScopedFloatMode&) = delete;
};

}  // namespace rapt::test
