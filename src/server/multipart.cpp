#include "server/multipart.h"

#include <optional>

#include "base/ascii.h"
#include "server/http_text.h"

namespace parlance {

namespace {

constexpr size_t kMostParts = 32;
constexpr size_t kMostPartHeadBytes = size_t{4} << 10;
constexpr size_t kMostBoundaryBytes = 70;
constexpr size_t kMostTextBytes = size_t{64} << 10;

tl::unexpected<ApiError> broken(std::string why) {
  return refuse("invalid_value", {}, "the form cannot be read: {}", why);
}

// name="…" of a field's parameters; a quoted value may hold escaped characters.
std::optional<std::string> parameter_of(std::string_view value, std::string_view name) {
  for (size_t at = value.find(';'); at != std::string_view::npos;) {
    value = trimmed(value.substr(at + 1));
    const size_t equals = value.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const bool is_it = ascii::are_equal(trimmed(value.substr(0, equals)), name);
    value = trimmed(value.substr(equals + 1));
    std::string text;
    size_t end = 0;
    if (value.starts_with('"')) {
      for (end = 1; end < value.size() && value[end] != '"'; ++end) {
        if (value[end] == '\\' && end + 1 < value.size()) ++end;
        text += value[end];
      }
    } else {
      end = std::min(value.find(';'), value.size());
      text = std::string(trimmed(value.substr(0, end)));
    }
    if (is_it) return text;
    at = value.find(';', end);
  }
  return std::nullopt;
}

// The head of a part, without its empty line.
ApiResult<FormPart> part_of(std::string_view head) {
  FormPart part;
  bool is_form_data = false;
  while (!head.empty()) {
    const size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return broken("a field of a part has no colon");
    if (!ascii::are_equal(trimmed(line.substr(0, colon)), "content-disposition")) continue;
    const std::string_view value = line.substr(colon + 1);
    is_form_data = true;
    part.name = parameter_of(value, "name").value_or("");
    const auto file_name = parameter_of(value, "filename");
    part.is_file = file_name.has_value();
    part.file_name = file_name.value_or("");
  }
  if (!is_form_data || part.name.empty()) return broken("a part has no name");
  return part;
}

}  // namespace

ApiResult<std::vector<FormPart>> parse_multipart(std::string_view content_type, std::string_view body) {
  const auto boundary = parameter_of(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kMostBoundaryBytes) {
    return broken("Content-Type names no boundary");
  }
  const std::string mark = "--" + *boundary, next = "\r\n" + mark;
  if (!body.starts_with(mark)) return broken("it does not begin with its boundary");
  body.remove_prefix(mark.size());
  std::vector<FormPart> parts;
  while (!body.starts_with("--")) {
    if (parts.size() >= kMostParts) return broken(fmt::format("it has more than {} parts", kMostParts));
    if (!body.starts_with("\r\n")) return broken("a boundary has something behind it");
    body.remove_prefix(2);
    const size_t head_end = body.substr(0, kMostPartHeadBytes).find("\r\n\r\n");
    if (head_end == std::string_view::npos) {
      return broken(fmt::format("the head of a part does not end within {} bytes", kMostPartHeadBytes));
    }
    PARLANCE_API_TRY(FormPart part, part_of(body.substr(0, head_end)));
    body.remove_prefix(head_end + 2);  // an empty content begins with the line break before its boundary
    const size_t end = body.find(next);
    if (end == std::string_view::npos) return broken("a part does not end");
    part.content = body.substr(std::min<size_t>(2, end), end < 2 ? 0 : end - 2);
    if (!part.is_file && part.content.size() > kMostTextBytes) {
      return refuse("string_above_max_length", part.name, "{} may have {} bytes", part.name, kMostTextBytes);
    }
    body.remove_prefix(end + next.size());
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace parlance
