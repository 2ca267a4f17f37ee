// Conversations with a server on this machine as those who talk have them, many at once: Realtime sessions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "measure/spread.h"

namespace parlance {

// Sound as Realtime sessions take it: 24 kHz, one channel, 16-bit little-endian.
using RealtimeSound = std::string;

struct ServedTalksTest {
  int n_sessions = 1;
  int n_turns = 2;                       // of each session, two seconds apart
  std::vector<RealtimeSound> questions;  // asked by turns, at the pace of speech
};

struct ServedTalks {
  int n_turns = 0;    // that were answered aloud
  Spread first_ms;    // from the end of speech, the silence that ends a turn included, to the first sound
  Spread missing_ms;  // sound of an answer that was not there when it was to be played
  int n_failed = 0;   // turns without an answer
  std::string first_failure;
};

// Error: cancelled.
Result<ServedTalks> run_served_talks(uint16_t port, const ServedTalksTest& test,
                                     const Cancellation& cancellation = {});

// A question spoken by the server's own voice, without the silence behind it. Errors: it speaks not.
Result<RealtimeSound> spoken_by_server(uint16_t port, const std::string& text);

}  // namespace parlance
