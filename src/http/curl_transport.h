// The network, by libcurl: TLS, proxies (HTTPS_PROXY, NO_PROXY, …), redirections.
#pragma once

#include <memory>

#include "hub/transport.h"

namespace parlance {

struct CurlOptions {
  int connect_timeout_s = 20;
  int silence_timeout_s = 60;  // without a byte
};

// For one thread at a time.
std::unique_ptr<Transport> make_curl_transport(const CurlOptions& options);

}  // namespace parlance
