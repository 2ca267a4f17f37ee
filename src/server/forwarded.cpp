#include "server/forwarded.h"

#include <algorithm>

#include "base/ascii.h"
#include "server/gate.h"
#include "server/http_text.h"

namespace parlance {

namespace {

bool is_trusted(std::string_view address, std::span<const AddressBlock> trusted) {
  return std::ranges::any_of(trusted, [&](const AddressBlock& block) { return block.contains(address); });
}

// The last of a list, which the list loses.
std::string_view take_last(std::string_view& list) {
  const size_t comma = list.rfind(',');
  const std::string_view last = comma == std::string_view::npos ? list : list.substr(comma + 1);
  list = comma == std::string_view::npos ? std::string_view() : list.substr(0, comma);
  return trimmed(last);
}

}  // namespace

HttpRequest as_forwarded(HttpRequest request, std::span<const AddressBlock> trusted) {
  if (!is_trusted(request.remote_address, trusted)) return request;
  // Each proxy adds whom it has heard; what stands before the first one that is not ours may be invented.
  const std::string chain(request.field("x-forwarded-for"));
  for (std::string_view rest = chain; !rest.empty() && is_trusted(request.remote_address, trusted);) {
    const std::string_view before = take_last(rest);
    if (!is_address(before)) break;
    request.remote_address = before;
  }
  request.is_loopback = is_loopback_address(request.remote_address);
  std::string_view protocols = request.field("x-forwarded-proto"), hosts = request.field("x-forwarded-host");
  request.is_secure = ascii::are_equal(take_last(protocols), "https");
  const std::string host(take_last(hosts));
  if (!host.empty()) {
    for (HttpField& field : request.fields) {
      if (field.name == "host") field.value = host;
    }
  }
  return request;
}

}  // namespace parlance
