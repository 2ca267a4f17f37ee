// What a proxy in front says of a request: who sent it, to which name, and whether over TLS.
#pragma once

#include <span>

#include "server/address_block.h"
#include "server/http_message.h"

namespace parlance {

// The request as it reached the first proxy that is trusted; as it is, where nobody trusted has sent it.
HttpRequest as_forwarded(HttpRequest request, std::span<const AddressBlock> trusted);

}  // namespace parlance
