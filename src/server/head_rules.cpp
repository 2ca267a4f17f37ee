#include "server/head_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "server/http_text.h"

namespace parlance {

namespace {

HeadRefusal refusal(int status, std::string why) {
  return {status, std::move(why)};
}

// A character of a method or of a field's name.
bool is_token(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return ascii::is_letter(c) || ascii::is_digit(c) || kOthers.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_token(c); });
}

// The lines without their ends; a CR or LF that is not part of one is an error.
std::optional<std::vector<std::string_view>> lines_of(std::string_view head) {
  std::vector<std::string_view> lines;
  while (!head.empty()) {
    const size_t end = head.find_first_of("\r\n");
    if (end == std::string_view::npos || head.substr(end, 2) != "\r\n") return std::nullopt;
    lines.push_back(head.substr(0, end));
    head.remove_prefix(end + 2);
  }
  return lines;
}

std::optional<HeadRefusal> check_request_line(std::string_view line) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return refusal(400, "the first line is not METHOD TARGET HTTP/1.1");
  }
  const std::string_view target = line.substr(first + 1, last - first - 1), version = line.substr(last + 1);
  const bool is_plain = std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_token(line.substr(0, first)) || target.empty() || !is_plain) {
    return refusal(400, "the first line is not METHOD TARGET HTTP/1.1");
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return refusal(400, "use HTTP/1.1");
  return std::nullopt;
}

struct Seen {
  int n_hosts = 0, n_lengths = 0, n_codings = 0;
  std::string host;
};

std::optional<HeadRefusal> check_field(std::string_view line, Seen& seen) {
  if (line.front() == ' ' || line.front() == '\t') {
    return refusal(400, "a field is folded over two lines; send it on one");
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return refusal(400, "a field has no proper name before its colon");
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  const bool is_plain = std::all_of(value.begin(), value.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' ? c != 0x7f : c == '\t';
  });
  if (!is_plain) return refusal(400, "a field has control characters in it");
  const std::string name = ascii::lower(line.substr(0, colon));
  if (name == "host") {
    ++seen.n_hosts;
    seen.host = ascii::lower(value);
  } else if (name == "content-length") {
    ++seen.n_lengths;
    const bool is_number =
        !value.empty() && value.size() <= 18 && std::all_of(value.begin(), value.end(), ascii::is_digit);
    if (!is_number) return refusal(400, "Content-Length is not a number");
  } else if (name == "transfer-encoding") {
    ++seen.n_codings;
    if (ascii::lower(value) != "chunked") return refusal(400, "the only transfer coding here is chunked");
  }
  return std::nullopt;
}

// Of "http://host:port/path"; none where the target is a path.
std::optional<std::string> authority_of(std::string_view target) {
  const size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return std::nullopt;
  const std::string_view rest = target.substr(scheme + 3);
  return ascii::lower(rest.substr(0, rest.find_first_of("/?#")));
}

}  // namespace

std::optional<size_t> end_of_head(std::string_view bytes) {
  const size_t at = bytes.find("\r\n\r\n");
  return at == std::string_view::npos ? std::nullopt : std::optional(at + 4);
}

std::optional<HeadRefusal> check_beginning(std::string_view bytes, const HeadLimits& limits) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  if (line.size() - (line.ends_with('\r') ? 1 : 0) > limits.n_line_bytes) {
    return refusal(414, fmt::format("the request line is longer than {} bytes", limits.n_line_bytes));
  }
  if (bytes.size() > limits.n_head_bytes) {
    return refusal(431, fmt::format("the head is longer than {} bytes", limits.n_head_bytes));
  }
  const bool is_text = std::all_of(line.begin(), line.end(), [](char c) {
    return c == '\r' || (static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 0x7f);
  });
  if (!is_text) return refusal(400, "this is not HTTP; TLS is what a proxy in front is for");
  return std::nullopt;
}

std::optional<HeadRefusal> check_head(std::string_view head, const HeadLimits& limits) {
  if (auto refused = check_beginning(head, limits)) return refused;
  const auto lines = head.size() < 2 ? std::nullopt : lines_of(head.substr(0, head.size() - 2));
  if (!lines || lines->empty()) return refusal(400, "a line does not end in CR LF");
  if (lines->size() - 1 > limits.n_fields) {
    return refusal(431, fmt::format("there are more than {} fields", limits.n_fields));
  }
  if (auto refused = check_request_line(lines->front())) return refused;
  Seen seen;
  for (size_t i = 1; i < lines->size(); ++i) {
    if (auto refused = check_field((*lines)[i], seen)) return refused;
  }
  if (seen.n_lengths + seen.n_codings > 1) {
    return refusal(400, "give one Content-Length or one Transfer-Encoding, not both and not twice");
  }
  const std::string_view line = lines->front();
  const bool is_old = line.ends_with("HTTP/1.0");
  if (seen.n_hosts > 1 || (seen.n_hosts == 0 && !is_old)) return refusal(400, "give one Host");
  if (is_old && seen.n_codings > 0) return refusal(400, "HTTP/1.0 has no transfer codings");
  const size_t begin = line.find(' ') + 1;
  const auto authority = authority_of(line.substr(begin, line.rfind(' ') - begin));
  if (authority && *authority != seen.host) return refusal(400, "the target and Host name two hosts");
  return std::nullopt;
}

}  // namespace parlance
