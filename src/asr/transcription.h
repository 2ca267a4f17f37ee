// What was heard: recordings as a whole, streams as they come.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asr/transcript.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

// Of the language model.
struct AsrTokens {
  int64_t sound = 0;   // rows of audio
  int64_t prompt = 0;  // around them
  int64_t answer = 0;

  AsrTokens& operator+=(const AsrTokens& more) {
    sound += more.sound;
    prompt += more.prompt;
    answer += more.answer;
    return *this;
  }
};

struct AsrSegment {
  double start_seconds = 0, end_seconds = 0;
  Transcript transcript;
  std::vector<Token> tokens;  // of the language model's answer
  bool is_complete = false;   // else the limit on tokens was met
  AsrTokens n_tokens;
};

struct Transcription {
  Transcript transcript;  // of all segments together
  std::vector<AsrSegment> segments;
};

struct AsrPartial {
  Transcript transcript;      // of all that was heard so far
  std::string stable;         // beginning of its text that will hardly change
  std::vector<Token> tokens;  // of the segment that is being heard
  double seconds = 0;         // of audio that it is about
  uint64_t revision = 0;      // counts changes
  bool is_final = false;
};

}  // namespace parlance
