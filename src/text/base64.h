// Bytes in letters.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace parlance {

// The standard alphabet, padded.
std::string to_base64(std::string_view bytes);
// None where it is not that.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace parlance
