#include "server/head_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/random_id.h"
#include "server/http_text.h"

namespace parlance {

namespace {

// The path of a target; empty where it names nothing: what is not plain after decoding once.
std::string path_of(std::string_view target) {
  const size_t scheme = target.starts_with('/') ? std::string_view::npos : target.find("://");
  if (scheme != std::string_view::npos) {
    const size_t slash = target.find_first_of("/?#", scheme + 3);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  target = target.substr(0, target.find_first_of("?#"));
  const std::string small = ascii::lower(target);
  for (const char* refused : {"%00", "%2f", "%5c", "//", "\\"}) {
    if (small.find(refused) != std::string::npos) return {};
  }
  const auto decoded = percent_decoded(target);
  if (!decoded || !decoded->starts_with('/')) return {};
  for (std::string_view rest = *decoded; !rest.empty();) {
    const std::string_view segment = next_of(rest, '/');
    if (segment == "." || segment == "..") return {};
  }
  return *decoded;
}

std::string query_of(std::string_view target) {
  const size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {};
  return std::string(target.substr(mark + 1, target.find('#') - mark - 1));
}

}  // namespace

HttpRequest request_of(std::string_view head) {
  HttpRequest request;
  std::string_view line = head.substr(0, head.find("\r\n"));
  head.remove_prefix(line.size() + 2);
  request.method = std::string(next_of(line, ' '));
  request.target = std::string(next_of(line, ' '));
  request.version = line == "HTTP/1.0" ? 10 : 11;
  request.path = path_of(request.target);
  request.query = query_of(request.target);
  while (!head.starts_with("\r\n")) {
    line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(line.size() + 2);
    const size_t colon = line.find(':');
    request.fields.push_back(
        {ascii::lower(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))});
  }
  return request;
}

std::string id_of(const HttpRequest& request) {
  const std::string_view given = request.field("x-request-id");
  const bool is_plain =
      !given.empty() && given.size() <= 128 && std::all_of(given.begin(), given.end(), [](char c) {
        return ascii::is_letter(c) || ascii::is_digit(c) || c == '.' || c == '_' || c == '-';
      });
  return is_plain ? std::string(given) : random_id("req_");
}

bool wants_close(const HttpRequest& request) {
  const std::string value = ascii::lower(request.field("connection"));
  for (std::string_view rest = value; !rest.empty();) {
    if (next_of(rest, ',') == "close") return true;
  }
  return request.version == 10;
}

bool has_body(const HttpRequest& request) {
  if (request.has_field("transfer-encoding")) return true;
  const std::string_view length = request.field("content-length");
  return length.find_first_not_of('0') != std::string_view::npos;
}

std::string head_text(const HttpAnswer& answer, Framing framing) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, reason_of(answer.status));
  for (const HttpField& field : answer.fields) text += fmt::format("{}: {}\r\n", field.name, field.value);
  if (answer.closes) text += "connection: close\r\n";
  if (framing == Framing::length && answer.status != 204 && answer.status != 304) {
    text += fmt::format("content-length: {}\r\n", answer.body.size());
  }
  if (framing == Framing::chunks) text += "transfer-encoding: chunked\r\n";
  return text + "\r\n";
}

std::string chunk_text(std::string_view piece) {
  return fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
}

}  // namespace parlance
