// Bytes of the user's in a message.
#pragma once

#include <string>
#include <string_view>

namespace rapt {

/// The bytes in quotes on one line: what is not printable ASCII is escaped, what is `cut` ends in dots.
inline std::string quoted_bytes(std::string_view bytes, bool cut = false) {
  std::string text = "'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 127 && byte != '\\') {
      text += c;
    } else {
      constexpr char hex[] = "0123456789abcdef";
      text += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return text + (cut ? "...'" : "'");
}

}  // namespace rapt
