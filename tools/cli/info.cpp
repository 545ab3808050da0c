// rapt info: what was built, what runs here, and why.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>
#include <rapt/rapt.hpp>

#include <cstdlib>

#include "caches.hpp"
#include "commands.hpp"
#include "dispatch.hpp"
#include "measure.hpp"
#include "streams.hpp"

namespace rapt::cli {
namespace {

std::string why() {
  const char* forced = std::getenv("RAPT_ISA");
  if (forced != nullptr && *forced != '\0') return "RAPT_ISA names it";
  return "the best one that runs here";
}

int online_cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

/// The cores that this process may use.
int usable_cores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : online_cores();
}

std::string cores() { return fmt::format("{} of {}", usable_cores(), online_cores()); }

/// One line for each cache of the first core.
std::string caches() {
  std::string lines;
  for (const DataCache& cache : data_caches())
    lines += fmt::format("{:<18}{}\n", lines.empty() ? "caches" : "", cache.name);
  return lines.empty() ? fmt::format("{:<18}unknown\n", "caches") : lines;
}

std::string isas() {
  std::string lines;
  for (const Isa& isa : compiled_isas()) {
    lines += fmt::format("{:<18}{:<10}{:<14}{}\n", lines.empty() ? "ISAs compiled" : "", isa.table->name,
                         isa.runnable ? "runs here" : "cannot run", isa.features);
  }
  return lines;
}

/// What one core and all of them reach, measured now.
std::string measured() {
  const int all = usable_cores();
  const auto line = [&](const char* name, const char* unit, double one_thread, double threads) {
    return fmt::format("{:<18}{:.1f} {} with 1 thread, {:.1f} with {}\n", name, one_thread / 1e9, unit,
                       threads / 1e9, all);
  };
  const std::ptrdiff_t bytes = measure::beyond_caches();
  return line("FMA peak f32", "GFLOP/s", measure::fma_peak<float>(1), measure::fma_peak<float>(all)) +
         line("FMA peak f64", "GFLOP/s", measure::fma_peak<double>(1), measure::fma_peak<double>(all)) +
         line("read bandwidth", "GB/s", measure::read_bandwidth(bytes, 1),
              measure::read_bandwidth(bytes, all));
}

void info() {
  write_output(fmt::format("{:<18}{}\n", "rapt", version()) +
               fmt::format("{:<18}{}\n", "numeric contract", contract_version()) +
               fmt::format("{:<18}{} ({})\n", "ISA", isa(), why()) + isas() +
               fmt::format("{:<18}{}\n", "cores", cores()) + caches() + measured());
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "info", "Show the version, the ISA chosen and why, cores, caches and what the machine reaches");
  add_manual(*command, "", {"rapt info", "RAPT_ISA=baseline rapt info"});
  command->callback(info);
}

}  // namespace rapt::cli
