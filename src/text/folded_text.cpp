#include "text/folded_text.h"

#include <utf8proc.h>

#include <array>
#include <span>

namespace parlance {

namespace {

// What typesetters write, and what is read in its place.
std::string_view plain_of(utf8proc_int32_t c) {
  switch (c) {
    case 0x2018:
    case 0x2019:
      return "'";
    case 0x2212:
      return "-";
    case 0x2013:
    case 0x2014:
      return ", ";
    case 0x2026:
      return ". ";
    default:
      return {};
  }
}

char folded(utf8proc_int32_t c) {
  switch (c) {
    case 0x20AC:
      return kEuro;
    case 0xA3:
      return kPound;
    case 0xB0:
      return kDegree;
    case 0xD7:
      return kTimes;
    case 0xF7:
      return kDivided;
    default:
      return c < 0x80 ? static_cast<char>(c) : ' ';
  }
}

void append_folded(std::string& out, utf8proc_int32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  if (const std::string_view plain = plain_of(c); !plain.empty()) {
    out += plain;
    return;
  }
  std::array<utf8proc_int32_t, 8> parts{};  // canonical decompositions have at most four
  int last_boundary = 0;
  const auto n =
      utf8proc_decompose_char(c, parts.data(), std::ssize(parts), UTF8PROC_DECOMPOSE, &last_boundary);
  if (n < 0 || n > std::ssize(parts)) {
    out += ' ';
    return;
  }
  for (const utf8proc_int32_t part : std::span(parts).first(static_cast<size_t>(n))) {
    if (utf8proc_category(part) != UTF8PROC_CATEGORY_MN) out += folded(part);
  }
}

}  // namespace

std::string fold(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t c = 0;
    const auto n = utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &c);
    if (n <= 0) {
      out += ' ';
      ++at;
      continue;
    }
    append_folded(out, c);
    at += static_cast<size_t>(n);
  }
  return out;
}

}  // namespace parlance
