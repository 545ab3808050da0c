#include <fmt/core.h>
#include <rapt/rapt.hpp>

int main() {
  fmt::print("rapt {}\n", rapt::version());
  return 0;
}
