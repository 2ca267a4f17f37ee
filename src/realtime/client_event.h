// What a client sends. Whatever comes is read as an event or as an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "realtime/items.h"
#include "realtime/protocol.h"

namespace parlance {

struct UpdateSession {
  Json session;
  bool is_transcription = false;  // of beta's transcription sessions
};
struct AppendSound {
  std::string bytes;
};
struct CommitSound {};
struct ClearSound {};
struct CreateItem {
  Item item;
  std::optional<std::string> behind;
};
struct DeleteItem {
  std::string id;
};
struct RetrieveItem {
  std::string id;
};
struct TruncateItem {
  std::string id;
  int64_t end_ms = 0;
};
struct CreateResponse {
  Json response;
};
struct CancelResponse {
  std::optional<std::string> id;
};
struct ClearOutput {};
struct ReportPlayback {
  std::string item_id;
  double played_ms = 0;
};

struct ClientEvent {
  std::optional<std::string> id;  // that the client gave it
  std::string type;
  std::variant<UpdateSession, AppendSound, CommitSound, ClearSound, CreateItem, DeleteItem, RetrieveItem,
               TruncateItem, CreateResponse, CancelResponse, ClearOutput, ReportPlayback>
      what;
};

// An error, and of which event as far as that was understood.
struct WrongEvent {
  RealtimeError error;
  std::optional<std::string> event_id;
};

tl::expected<ClientEvent, WrongEvent> read_client_event(std::string_view text);

}  // namespace parlance
