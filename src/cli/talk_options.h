// What `parlance talk` was asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audio/pcm_stream.h"
#include "audio/wav_writer.h"
#include "cli/quality_options.h"
#include "cli/terminal/options.h"
#include "tts/speech_request.h"
#include "voice/filler.h"
#include "voice/talk.h"

namespace parlance {

struct TalkChoice {
  std::vector<std::string> files;  // "-": standard input; none: the microphone
  PcmFormat pcm;                   // of raw samples on standard input
  std::string microphone;
  bool is_fast = false;                  // files are heard as fast as can be
  bool wants_barge_in = false;           // and go on while an answer is played
  bool is_half_duplex = false;           // the microphone is not heard meanwhile
  bool removes_echo = true;              // of the loudspeaker, from what the microphone hears
  std::optional<double> end_silence_ms;  // none: by what was said
  double pause_ms = 60;

  std::string output;  // a WAV file; "-": standard output; empty: the speaker, or nothing
  WavEncoding encoding = WavEncoding::s16;
  std::string speaker;
  bool is_silent = false;
  bool wants_json = false;
  std::string trace_file, timeline_file;

  std::string voice = "default";
  FillerMoment filler = FillerMoment::never;
  std::string language;
  SpeechRequest manner;
  QualityChoice quality;
  int first_steps = 0;

  std::string system;
  bool has_thinking = false;
  bool makes_no_drafts = false;
  AnswerChoice answer;

  Choice models;

  bool hears_microphone() const { return files.empty(); }
};

}  // namespace parlance
