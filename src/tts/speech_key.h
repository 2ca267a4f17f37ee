// What a request's sound is known by.
#pragma once

#include <string>

#include "tts/speech_request.h"

namespace parlance {

// All that a request's sound depends on beside its text and whether it is streamed: requests with the same
// key sound the same.
std::string speech_key(const SpeechRequest& request, bool is_streamed);

}  // namespace parlance
