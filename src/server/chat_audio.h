// Recordings in the messages of a chat: what is said in them stands in their place.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/site.h"

namespace parlance {

// Whether a message has a part of type input_audio.
bool has_recordings(const Body& chat);

// Where there are some: hears them, on the threads for sound, and calls `go_on` on those that prepare, with
// the chat as if its recordings had been written, and what was heard in each. Errors in between are sent.
// Errors: there is nobody to hear them; too many requests wait.
struct HeardChat {
  Body chat;
  std::vector<std::string> transcripts;
};
using OnHeardChat = std::function<ApiResult<void>(Call& call, HeardChat heard)>;
ApiResult<void> hear_recordings(Site& site, Call& call, const Body& chat, OnHeardChat go_on);

}  // namespace parlance
