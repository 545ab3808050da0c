// What this machine can do at most, measured: the yardsticks of every share that a benchmark or `rapt info`
// prints. Not part of the library: unlike rapt it starts threads of its own.
#pragma once

#include <cstddef>

namespace rapt::measure {

/// CPU time that the calling thread has used, in seconds. What single-thread measurements use: time during
/// which the machine runs somebody else does not count.
double thread_cpu_seconds() noexcept;

/// Wall-clock seconds since some fixed moment.
double wall_seconds() noexcept;

/// FLOP/s of independent fused multiply-adds in registers (multiply, then add on an ISA without FMA), with
/// the active ISA's vectors, on `threads` threads at once. T is float or double. Takes about `seconds`.
template <class T>
double fma_peak(int threads = 1, double seconds = 0.02);

/// Bytes/s of reading an array of `bytes` from end to end, several streams a thread, on `threads` threads at
/// once: the best of some passes, on huge pages where the system gives them. An array that fits a cache shows
/// that cache's bandwidth.
double read_bandwidth(std::ptrdiff_t bytes, int threads = 1, double seconds = 0.1);

/// A size that no cache of this machine holds: for the bandwidth of memory itself.
std::ptrdiff_t beyond_caches() noexcept;

}  // namespace rapt::measure
