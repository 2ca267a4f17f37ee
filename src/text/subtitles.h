// Timed text as files that video players read.
#pragma once

#include <span>
#include <string>

namespace parlance {

// What is said from one time to another.
struct Cue {
  double start_s = 0;
  double end_s = 0;
  std::string text;
};

// SubRip (.srt) and WebVTT (.vtt). Both break the text into lines of at most 42 columns; a cue that needs
// more than two of them becomes several, which share its time by their lengths. Times are made to rise: none
// lies before zero, a cue ends where the next one begins at the latest and lasts a millisecond at least. Cues
// without text are left out. Any bytes will do as text: what is no UTF-8 becomes U+FFFD, and nothing in it
// can end a cue.
std::string srt_text(std::span<const Cue> cues);
std::string webvtt_text(std::span<const Cue> cues);

}  // namespace parlance
