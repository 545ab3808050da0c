// A view's shape in a message: "[2, 8, 64]".
#pragma once

#include <rapt/view.hpp>

#include <string>

namespace rapt {

template <class T, int N>
std::string shape_text(const View<T, N>& view) {
  std::string text;
  for (const std::ptrdiff_t extent : view.extents)
    text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text + "]";
}

}  // namespace rapt
