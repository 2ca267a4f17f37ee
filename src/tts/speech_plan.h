// Into which parts a text is divided before it is spoken, and how long each of them takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tts/audio/speech_format.h"

namespace parlance {

inline constexpr int32_t kFramesPerSecond = kSpeechRateHz / kSpeechFrameSamples;

// The most that is spoken in one piece: its logits take 64 KiB a frame and row, and attention grows by the
// square.
inline constexpr int32_t kMostChunkFrames = 120 * kFramesPerSecond;

struct Chunking {
  float chunk_seconds = 15;        // of a chunk, about; 0: all is one chunk
  float threshold_seconds = 30;    // texts up to this length are one chunk
  bool cuts_first_clause = false;  // into a chunk of its own, whose sound comes sooner

  // The same with chunks of that length at most, about, unless all shall be one.
  Chunking within(float seconds) const {
    return {.chunk_seconds = std::min(chunk_seconds, seconds),
            .threshold_seconds = std::min(threshold_seconds, seconds),
            .cuts_first_clause = cuts_first_clause};
  }
};

// For who listens while the rest is computed.
inline constexpr Chunking kStreamedChunking{
    .chunk_seconds = 8, .threshold_seconds = 0, .cuts_first_clause = true};

// How fast is spoken: as in a reference of which words and frames are known, else at an ordinary pace.
struct Pace {
  std::string_view reference_text = {};
  int32_t n_reference = 0;  // frames
  float speed = 1;          // 2: in half the time
};

// Frames that the text takes, at least 1.
int32_t frames_at_pace(std::string_view text, const Pace& pace);

// The same of a text that is `said` in words: digits weigh little for the words that they are, so these
// count, though less than written ones (kSaidShare; training/tts/prompt.py measures it).
int32_t frames_to_say(std::string_view written, std::string_view said, const Pace& pace);
constexpr float kSaidShare = 0.85f;

// The chunks of a text, one if it is short. What has no punctuation to cut at and would become longer than
// kMostChunkFrames is cut at white space, or anywhere if it has none either.
std::vector<std::string> plan_chunks(std::string_view text, const Chunking& chunking, const Pace& pace);

}  // namespace parlance
