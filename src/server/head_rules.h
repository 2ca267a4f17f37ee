// Which heads of requests are believed. Servers and proxies that read a head differently can be played
// against each other, so whatever is ambiguous is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace parlance {

struct HeadLimits {
  size_t n_line_bytes = size_t{8} << 10;   // of the request line
  size_t n_head_bytes = size_t{16} << 10;  // with all fields and the empty line
  size_t n_fields = 100;
};

struct HeadRefusal {
  int status = 400;  // 400, 414 or 431
  std::string why;   // in words, for the client
};

// Where the head in these bytes ends: behind its empty line; none as long as it is not complete.
std::optional<size_t> end_of_head(std::string_view bytes);

// Whether a beginning of a head may be read on: that no limit has been passed, and nothing stands in it that
// no head has.
std::optional<HeadRefusal> check_beginning(std::string_view bytes, const HeadLimits& limits);

// The same for a complete head.
std::optional<HeadRefusal> check_head(std::string_view head, const HeadLimits& limits);

}  // namespace parlance
