// How long a text takes to speak, from what kinds of characters it has. All sums are in f32, so that a text
// has the same number of frames everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace parlance {

// How long a code point takes, in units of a Latin letter: by Unicode's general category, else by script.
float char_weight(char32_t c);

// The sum over a text.
float text_weight(std::string_view text);

// Frames for the text at the pace of a reference of which the words and the frames are known. Short texts get
// more than their share. 0 when the reference tells no pace.
float estimate_frames(std::string_view text, std::string_view reference_text, float n_reference);

// Frames to generate, at least 1: at the reference's pace, or at an ordinary one when it has no words or no
// frames.
int32_t n_target_frames(std::string_view text, std::string_view reference_text, int32_t n_reference);

// Frames of a duration that the user asks for, at least 1.
int32_t frames_of_seconds(float seconds, int32_t sample_rate_hz = 24000, int32_t n_hop = 960);

}  // namespace parlance
