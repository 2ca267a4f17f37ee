// What was spoken and how long it took, for people and for programs.
#pragma once

#include <string>

#include "cli/terminal/console.h"
#include "json/json.h"
#include "tts/speech_request.h"

namespace parlance {

// A line on the terminal that says how far the work is, until it ends.
class SayProgress {
 public:
  explicit SayProgress(const Console& io) : io_(io) {}
  ~SayProgress() {
    if (is_shown_) io_.write_progress("");
  }
  SayProgress(const SayProgress&) = delete;
  SayProgress& operator=(const SayProgress&) = delete;

  void show(const SpeechProgress& progress);

 private:
  const Console& io_;
  bool is_shown_ = false;
};

// "4.2 s of speech in 3.1 s, the first sound after 0.8 s"
std::string summary_of(const SpeechReport& report);

// Members audio_seconds to chunks.
void add_report(Json& json, const SpeechReport& report);

}  // namespace parlance
