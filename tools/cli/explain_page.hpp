// The page of rapt explain: one HTML file that needs no network.
#pragma once

#include <string>

#include "reading.hpp"

namespace rapt::cli {

/// A heat map of the weights (downsampled where there are many rows), where each token looks as a table, and
/// the six stages.
std::string page(const Reading& reading);

}  // namespace rapt::cli
