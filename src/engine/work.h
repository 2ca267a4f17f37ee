// On what terms something is computed: how urgent it is, until when, and who may stop it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/cancellation.h"
#include "kv/sharing.h"

namespace parlance {

// What goes first when several sequences want to be computed.
enum class Priority : uint8_t {
  realtime,     // somebody is speaking, or waits for the next word of an answer that is being spoken
  interactive,  // somebody reads along
  background,   // nobody waits: prewarming, batch work
};

struct Work {
  Cancellation cancellation = {};
  Priority priority = Priority::interactive;
  std::optional<std::chrono::steady_clock::time_point> deadline =
      {};                // when it has not ended by then, it fails
  Sharing sharing = {};  // of what is computed for a prompt
};

}  // namespace parlance
