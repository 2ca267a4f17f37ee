// Text that comes from the person: an option, a file or standard input.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/terminal/console.h"

namespace parlance {

// Enough for any context; a wrong path must not fill memory.
inline constexpr size_t kInputLimitBytes = size_t{64} << 20;

// The text of --prompt, or the contents of --file; "-" in either is standard input, and so is neither when
// standard input is no terminal. Empty optional: there is nothing to read.
Result<std::optional<std::string>> read_input(const Console& io, const std::optional<std::string>& text,
                                              const std::string& file);

// An error of usage when both are given.
Result<void> check_input(const std::optional<std::string>& text, const std::string& file);

// The text as UTF-8: bytes that are not become U+FFFD, with a warning that names `what`.
std::string as_utf8(const Console& io, std::string_view what, std::string text);

}  // namespace parlance
