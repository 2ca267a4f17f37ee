#include "text/base64.h"

#include <nettle/base64.h>

namespace parlance {

std::string to_base64(std::string_view bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(text.data(), bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  // The library passes over white space.
  if (text.find_first_of(" \t\r\n\f\v") != std::string_view::npos) return std::nullopt;
  std::string bytes(BASE64_DECODE_LENGTH(text.size()), '\0');
  base64_decode_ctx context;
  base64_decode_init(&context);
  size_t n = bytes.size();
  const bool is_valid = base64_decode_update(&context, &n, reinterpret_cast<uint8_t*>(bytes.data()),
                                             text.size(), text.data()) == 1 &&
                        base64_decode_final(&context) == 1;
  if (!is_valid) return std::nullopt;
  bytes.resize(n);
  return bytes;
}

}  // namespace parlance
