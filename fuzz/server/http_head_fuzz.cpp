// Any bytes as the head of a request: judged the same however they come, and what is let through is read into
// a request whose path leads nowhere but where it says, and which only its rightful host and origin may send.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "allocations.h"
#include "base/ascii.h"
#include "server/forwarded.h"
#include "server/gate.h"
#include "server/head_rules.h"
#include "server/head_text.h"
#include "server/router.h"

namespace {

using namespace parlance;
using fuzz::require;

void check_request(HttpRequest request) {
  const std::string& path = request.path;
  require(path.empty() || path.front() == '/', "a path is absolute, or leads nowhere");
  for (const char* refused : {"//", "\\", "/../", "/./"})
    require(path.find(refused) == std::string::npos, "a path is plain");
  require(path.find('\0') == std::string::npos && !path.ends_with("/.."), "a path is plain");
  for (const HttpField& field : request.fields) {
    require(!field.name.empty() && ascii::lower(field.name) == field.name, "names are in lower case");
    require(field.value.find_first_of({"\r\n\0", 3}) == std::string::npos, "values are one line");
  }
  const std::string id = id_of(request);
  require(!id.empty() && id.size() <= 128 && id.find_first_of(" \r\n\"") == std::string::npos,
          "ids can be logged");
  (void)request.parameter("action");
  (void)wants_close(request);
  (void)find_route(request.method, path);
  static const GateRules rules = [] {
    GateRules gate;
    gate.bound_address = "127.0.0.1";
    gate.keys = {*make_key("fuzz", "0123456789abcdef", "key", true)};
    gate.cors_origins = {"https://app.example"};
    gate.proxies = {*AddressBlock::parse("127.0.0.1")};
    return gate;
  }();
  request.remote_address = "127.0.0.1";
  request.is_loopback = true;
  const auto caller = pass(rules, as_forwarded(request, rules.proxies), KeyNeed::any);
  if (caller && *caller) {
    const bool has_key = std::ranges::any_of(request.fields, [](const HttpField& field) {
      return field.value.find("0123456789abcdef") != std::string::npos;
    });
    require(has_key, "nobody passes without a key");
  }
  if (!caller) require(caller.error().status >= 400 && !caller.error().message.empty(), "errors have words");
  for (const HttpField& field : cors_fields(rules, request))
    require(field.value.find_first_of("\r\n") == std::string::npos, "answers' fields are one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HeadLimits limits{.n_line_bytes = 256, .n_head_bytes = 1024, .n_fields = 8};
  const auto end = end_of_head(bytes);
  if (!end) {
    check_beginning(bytes, limits);
    return 0;
  }
  const std::string_view head = bytes.substr(0, *end);
  const auto refused = check_head(head, limits);
  require(refused || head.size() <= limits.n_head_bytes, "heads are no longer than they may be");
  // What is refused while it comes is refused as a whole.
  for (size_t n = 0; n < head.size(); n += 1 + head.size() / 16) {
    require(refused || !check_beginning(head.substr(0, n), limits), "a good head begins well");
  }
  if (!refused) check_request(request_of(head));
  return 0;
}
