// Running Google Benchmark's benchmarks, for an exit status that says whether there are results.
#pragma once

namespace rapt::bench {

/// Takes Google Benchmark's flags and leaves the other arguments, as benchmark::Initialize() does.
void take_flags(int* argc, char** argv);

/// Runs the benchmarks that the flags choose. Exit status: 0; 1 where results were lost, on standard output
/// or in the file of --benchmark_out, as stderr then says; 2 where the flags choose none.
int run_benchmarks(const char* program);

/// Whether all that was written to standard output arrived; says so on stderr where it did not.
bool output_is_whole(const char* program);

}  // namespace rapt::bench
