// host PLUGIN...: a program without rapt and without oneTBB that loads modules with rapt in them, uses them,
// and unloads them. What it is: one thread until work is shared, one process that forks, several copies of
// rapt at a time, a locale with a decimal comma.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <thread>
#include <vector>

namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (good) return;
  std::printf("FAILED: %s\n", what);
  ++failures;
}

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

class Plugin {
 public:
  Plugin(const char* path, int scope) : handle_(dlopen(path, RTLD_NOW | scope)) {
    if (handle_ == nullptr) {
      std::printf("FAILED: dlopen: %s\n", dlerror());
      std::exit(1);
    }
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { check(dlclose(handle_) == 0, "dlclose"); }

  std::uint64_t answer(int on_threads) const {
    return reinterpret_cast<std::uint64_t (*)(int)>(dlsym(handle_, "rapt_answer"))(on_threads);
  }
  bool refuses() const { return reinterpret_cast<bool (*)()>(dlsym(handle_, "rapt_refuses"))(); }

 private:
  void* handle_;
};

struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

void computes_in_a_child(const Plugin& plugin, std::uint64_t expected) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a deadlock ends as a failure
    _exit(plugin.answer(2) == expected && threads() == 1 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  check(status == 0, "a child of fork() computes the same, on its only thread");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<const char*> paths(argv + 1, argv + argc);
  std::uint64_t expected = 0;
  {
    const Plugin first(paths.at(0), RTLD_LOCAL);
    expected = first.answer(1);
    check(threads() == 1, "in an arena of one thread no thread is made");
    check(first.answer(2) == expected, "two threads give the same bits");
    check(threads() <= std::max<std::ptrdiff_t>(2, std::thread::hardware_concurrency()),
          "no threads but those of the arenas");
    computes_in_a_child(first, expected);
  }
  for (int round = 0; round < 3; ++round) {
    const int scope = round % 2 == 0 ? RTLD_LOCAL : RTLD_GLOBAL;
    std::vector<std::unique_ptr<Plugin>> copies;
    for (const char* path : paths) copies.push_back(std::make_unique<Plugin>(path, scope));
    for (const auto& copy : copies) {
      check(copy->answer(2) == expected, "every copy gives the same bits");
      check(copy->refuses(), "a copy's refusal is caught");
    }
    if (round == 1) computes_in_a_child(*copies.back(), expected);
  }
  const char* comma = nullptr;
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"}) {
    if (comma == nullptr) comma = std::setlocale(LC_ALL, name);
  }
  std::locale::global(std::locale(std::locale(), new Comma));
  {
    const Plugin plugin(paths.at(0), RTLD_LOCAL);
    check(plugin.answer(1) == expected, "a decimal comma changes nothing");
  }
  check(comma == nullptr || comma == std::string(std::setlocale(LC_ALL, nullptr)), "the locale stays");
  if (failures == 0)
    std::printf("%zu modules: good; C locale with a comma: %s\n", paths.size(),
                comma != nullptr ? comma : "none here");
  return failures;
}
