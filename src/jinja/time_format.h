// Points in time as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace parlance::jinja {

// What one byte of a format can grow to at most.
constexpr size_t kMaxBytesPerDirective = 16;

// A point in time (seconds since 1970, UTC) by the directives of strftime, in English. `%-d` and its like
// leave out leading zeros. An error for a directive that is not supported and for years outside of 1 to 9999.
Result<std::string> format_time(std::string_view format, int64_t unix_s);

}  // namespace parlance::jinja
