// Catch2's own main, for a CPU that its Debian package is not built for.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
