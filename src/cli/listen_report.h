// What was heard, as text, JSON or subtitles.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asr/aligner.h"
#include "asr/transcript.h"
#include "audio/mel.h"
#include "cli/listen_options.h"
#include "cli/terminal/console.h"
#include "json/json.h"

namespace parlance {

struct HeardSegment {
  double start_s = 0, end_s = 0;
  Transcript transcript;
  bool is_complete = true;            // else the limit on tokens cut it off
  std::vector<TimedWord> words = {};  // in the recording's time; only where they were asked for
};

struct Heard {
  std::vector<HeardSegment> segments;
  Transcript transcript;  // of all of them
  double audio_s = 0;
  std::optional<double> processing_s;  // none where the speaker's pace decided
};

// The transcript of stretches of speech that were recognised each by itself: a space between them, except in
// scripts that have none.
Transcript join_segments(std::span<const HeardSegment> segments);

// Of samples at the rate of recogniser and detector.
inline double seconds_of(int64_t n_samples) {
  return static_cast<double>(n_samples) / kMelSampleRateHz;
}

// "1:02:03.4", "0:07.1"
std::string clock_time(double seconds);

Json to_json(const HeardSegment& segment);

// `names` are further members of the JSON object: which models it was.
void print_heard(const Console& io, ListenFormat format, const Heard& heard,
                 std::initializer_list<std::pair<std::string_view, std::string>> names);

}  // namespace parlance
