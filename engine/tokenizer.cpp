// The byte tokenizer: every byte is a token, so every text has ids and no text is unknown.
#include <rapt/embedding.hpp>
#include <rapt/error.hpp>

#include "view_checks.hpp"

namespace rapt {

std::vector<std::int64_t> encode(std::string_view text, bool bos, bool eos) {
  std::vector<std::int64_t> ids;
  ids.reserve(text.size() + (bos ? 1 : 0) + (eos ? 1 : 0));
  if (bos) ids.push_back(bos_id);
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c) + first_byte_id);
  if (eos) ids.push_back(eos_id);
  return ids;
}

std::string decode(View<const std::int64_t, 1> ids) {
  footprint("decode: ids", {"len"}, ids);
  std::string text;
  text.reserve(static_cast<std::size_t>(ids.extents[0]));
  for (std::ptrdiff_t t = 0; t < ids.extents[0]; ++t) {
    const std::int64_t id = ids(t);
    if (id < 0 || id >= byte_vocab_size) {
      throw invalid_input("decode: ids[" + std::to_string(t) + "] is " + std::to_string(id) +
                          ", expected at least 0 and below " + std::to_string(byte_vocab_size));
    }
    if (id >= first_byte_id)
      text.push_back(static_cast<char>(static_cast<unsigned char>(id - first_byte_id)));
  }
  return text;
}

}  // namespace rapt
