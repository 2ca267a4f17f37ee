// Secrets that a server hands out so that others, such as a page in a browser, can open realtime sockets for
// a while without knowing a key.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "json/json.h"
#include "realtime/settings.h"

namespace parlance {

struct ClientSecret {
  std::string owner;  // the name of the key that asked for it; empty: there are no keys
  // What sessions that are opened with it are set to, as `session.update` would set it in the dialect.
  Json session;
  Dialect dialect = Dialect::ga;
  SessionKind kind = SessionKind::conversation;
  std::chrono::system_clock::time_point expires_at;
};

// From any thread.
class ClientSecrets {
 public:
  using Clock = std::chrono::system_clock;

  static constexpr size_t kMost = 1000;  // that have not expired

  // The text of a new one, "ek_…". None: there are as many as there may be.
  std::optional<std::string> add(ClientSecret secret, Clock::time_point now = Clock::now());
  // None: there is no such one, or it has expired.
  std::optional<ClientSecret> find(std::string_view text, Clock::time_point now = Clock::now()) const;
  // Until there is room for one more.
  std::chrono::seconds time_until_room(Clock::time_point now = Clock::now()) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, ClientSecret> secrets_;  // by the SHA-256 of their texts, which are not kept
};

}  // namespace parlance
