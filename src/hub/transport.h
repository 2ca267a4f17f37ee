// How bytes come from servers. What knows the network is behind this: src/http/ for the program, a script of
// answers in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/cancellation.h"

namespace parlance {

struct FetchRequest {
  std::string url;
  std::string bearer = {};    // a token, for the host of `url` and no other that it redirects to; empty: none
  uint64_t from = 0;          // the byte to begin with; 0: the whole
  std::string if_range = {};  // with `from`: only if what is there still has this mark (an ETag or a date)
};

// Of the answer that is not a redirection.
struct FetchHead {
  int status = 0;
  std::map<std::string, std::string> fields = {};  // by names in lower case; of several, the last

  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  }
};

// Takes an answer as it comes; false ends the transfer.
class FetchSink {
 public:
  virtual ~FetchSink() = default;
  virtual bool on_head(const FetchHead& head) = 0;
  virtual bool on_body(std::span<const std::byte> bytes) = 0;
};

enum class FetchEnd : uint8_t {
  complete,     // the whole answer came, whatever its status
  declined,     // the sink had enough
  cancelled,    // by the ticket
  interrupted,  // cut, unreachable, silent for too long: the same may work later
  impossible,   // no such host, a certificate that nobody vouches for, an address that is none
};

struct FetchOutcome {
  FetchEnd end = FetchEnd::complete;
  std::string reason;  // why it is not complete, in words
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Follows redirections. Returns when all has come, or nothing more will.
  virtual FetchOutcome get(const FetchRequest& request, FetchSink& sink,
                           const Cancellation& cancellation) = 0;
};

}  // namespace parlance
