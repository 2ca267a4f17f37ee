// What `parlance listen` was asked for.
#pragma once

#include <optional>
#include <string>

#include "asr/recognizer.h"
#include "audio/pcm_stream.h"
#include "cli/terminal/options.h"
#include "vad/speech_segments.h"
#include "vad/turn_detector.h"

namespace parlance {

enum class ListenFormat { text, json, srt, vtt };

// What counts as speech; what was not given has the defaults of whoever looks for it.
struct SpeechChoice {
  double threshold = 0.5;
  std::optional<double> min_silence_ms, min_speech_ms, pad_ms;

  SegmentOptions in_recordings() const;
  TurnOptions in_streams() const;
};

struct ListenOptions {
  std::string file;  // "-": standard input; empty: the microphone
  PcmFormat pcm;     // of raw samples on standard input
  std::string microphone;
  bool lists_microphones = false;
  bool is_streamed = false;  // the file is heard as if it came from a microphone

  ModelChoice models;
  AsrRequest request;
  SpeechChoice speech;

  ListenFormat format = ListenFormat::text;
  bool wants_words = false;
  bool prints_partials = false;
  bool is_vad_only = false;
  std::string plot;  // an SVG file; empty: none

  bool is_recording() const { return !file.empty() && file != "-" && !is_streamed; }
};

}  // namespace parlance
