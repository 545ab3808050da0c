// The program rapt: subcommands, and what every one of them does alike. Exit status 0 on success, 2 on bad
// input, a bad option, an unreadable file or a bad RAPT_ISA, 1 when the output cannot be written. An error is
// one line on stderr.
#include <rapt/rapt.hpp>

#include <csignal>
#include <cstring>
#include <new>
#include <sstream>

#include "commands.hpp"
#include "plot.hpp"
#include "streams.hpp"
#include "table.hpp"

namespace {

constexpr const char* manual =
    "Exit status: 0 done; 2 bad input, a bad option, an unreadable file or a bad RAPT_ISA; 1 output that "
    "cannot be written.\n"
    "Environment: RAPT_ISA=baseline|avx2|avx512|neon forces the kernels of one instruction set.";

constexpr int bad_input = 2;
constexpr int failed = 1;

/// Tells what went wrong in one line, whatever bytes a file name or an option brought into it.
int fail(int status, const std::string& what) {
  std::string line = "rapt: ";
  for (const char c : what) line += c == '\n' || c == '\r' ? ' ' : c;
  while (line.back() == ' ') line.pop_back();
  line = rapt::cli::printable(line) + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
  return status;
}

/// Help and version are output like any other.
void print_requested(CLI::App& app, const CLI::Success& request) {
  std::ostringstream text, unused;
  app.exit(request, text, unused);
  rapt::cli::write_output(text.str());
}

int run_program(int argc, char** argv) {
  CLI::App app{"Exact and fast attention on CPUs"};
  app.name("rapt");
  app.set_version_flag("--version", std::string("rapt ") + rapt::version());
  app.require_subcommand(0, 1);  // an unknown word is told before that none is known
  app.footer(manual);            // subcommands have it too
  rapt::cli::add_run(app);
  rapt::cli::add_generate(app);
  rapt::cli::add_explain(app);
  rapt::cli::add_profile(app);
  rapt::cli::add_capacity(app);
  rapt::cli::add_info(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
  } catch (const CLI::Success& request) {
    print_requested(app, request);
  }
  rapt::cli::close_output();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe and a file that may not grow are then failed writes, and told as such.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run_program(argc, argv);
  } catch (const CLI::ParseError& error) {
    return fail(bad_input, error.what());
  } catch (const rapt::invalid_input& error) {
    return fail(bad_input, error.what());
  } catch (const rapt::cli::unreadable_file& file) {
    return fail(bad_input, file.name + ": cannot be read: " + std::strerror(file.error));
  } catch (const rapt::cli::output_failure& output) {
    return fail(failed, output.name + ": cannot be written: " + std::strerror(output.error));
  } catch (const rapt::cli::plot_failure& plot) {
    return fail(failed, std::string("--plot: ") + plot.what());
  } catch (const std::bad_alloc&) {
    return fail(failed, "not enough memory");
  } catch (const std::length_error&) {
    return fail(failed, "not enough memory");
  } catch (const std::exception& error) {  // such as a thread that the system does not start
    return fail(failed, error.what());
  }
}
