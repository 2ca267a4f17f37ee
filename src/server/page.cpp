#include "server/page.h"

#include <algorithm>

#include "base/ascii.h"
#include "server/http_text.h"

namespace parlance {

namespace {

// A host that may stand in a header as it is; the gate has let more pass.
bool is_plain_host(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return ascii::is_letter(c) || ascii::is_digit(c) ||
           std::string_view(".-_:[]").find(c) != std::string_view::npos;
  });
}

// 'self' means sockets, too, but not in every browser.
std::string content_policy(std::string_view host) {
  const std::string sockets = is_plain_host(host) ? fmt::format(" ws://{0} wss://{0}", host) : "";
  return fmt::format(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' "
      "blob:; "
      "worker-src 'self'; connect-src 'self'{}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      sockets);
}

// Whether a list of tags ("a", W/"b", *) has this one.
bool has_tag(std::string_view list, std::string_view tag) {
  while (!list.empty()) {
    std::string_view one = trimmed(next_of(list, ','));
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
  }
  return false;
}

}  // namespace

const PageFile* find_page_file(std::string_view path) {
  const auto files = page_files();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const PageFile& f) { return f.path == path; });
  return found == files.end() ? nullptr : &*found;
}

HttpAnswer page_answer(const HttpRequest& request) {
  const PageFile& file = *find_page_file(request.path);
  HttpAnswer answer{.fields = {{"content-type", std::string(file.media_type)},
                               {"cache-control", "no-cache"},
                               {"etag", std::string(file.etag)},
                               {"content-security-policy", content_policy(request.field("host"))},
                               {"permissions-policy", "microphone=(self)"},
                               {"cross-origin-opener-policy", "same-origin"},
                               {"referrer-policy", "no-referrer"}},
                    .body = {}};
  if (has_tag(request.field("if-none-match"), file.etag)) {
    answer.status = 304;
  } else {
    answer.body = file.content;
  }
  return answer;
}

}  // namespace parlance
