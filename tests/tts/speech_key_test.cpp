#include "tts/speech_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace parlance {
namespace {

TEST(SpeechKey, DiffersWithAllThatIsHeard) {
  const std::vector<std::function<void(SpeechRequest&)>> changes = {
      [](auto&) {},
      [](auto& r) { r.language = "de"; },
      [](auto& r) { r.instruct = "female"; },
      [](auto& r) {
        r.voice.reference = {.n_codebook = 2, .codes = {1, 2, 3, 4}};
      },
      [](auto& r) {
        r.voice.reference = {.n_codebook = 1, .codes = {1, 2, 3, 4}};
      },
      [](auto& r) {
        r.voice.reference = {.n_codebook = 2, .codes = {1, 2, 3, 5}};
      },
      [](auto& r) { r.voice.reference_text = "female"; },
      [](auto& r) { r.voice.instruct = "female"; },
      [](auto& r) { r.voice.rms = 0.0f; },
      [](auto& r) { r.voice.rms = 0.1f; },
      [](auto& r) { r.denoise = false; },
      [](auto& r) { r.decoding.n_step = 7; },
      [](auto& r) { r.decoding.guidance = 7; },
      [](auto& r) { r.decoding.t_shift = 7; },
      [](auto& r) { r.decoding.layer_penalty = 7; },
      [](auto& r) { r.decoding.position_temperature = 7; },
      [](auto& r) { r.decoding.class_temperature = 7; },
      [](auto& r) { r.decoding.seed = 7; },
      [](auto& r) { r.mask = GuidanceMask::soft; },
      [](auto& r) { r.seconds = 7; },
      [](auto& r) { r.speed = 7; },
      [](auto& r) { r.chunking.chunk_seconds = 7; },
      [](auto& r) { r.chunking.threshold_seconds = 7; },
      [](auto& r) { r.chunking.cuts_first_clause = true; },
      [](auto& r) { r.is_processed = false; },
      [](auto& r) { r.leading_silence = LeadingSilence::none; },
      [](auto& r) { r.is_windowed = false; },
  };
  std::set<std::string> keys;
  for (size_t i = 0; i < changes.size(); ++i) {
    SpeechRequest request;
    changes[i](request);
    for (const bool is_streamed : {false, true})
      EXPECT_TRUE(keys.insert(speech_key(request, is_streamed)).second) << i;
  }
}

// Where one text ends and the next begins is part of it.
TEST(SpeechKey, TextsDoNotRunTogether) {
  SpeechRequest a, b;
  a.language = "x\ny", a.instruct = "z";
  b.language = "x", b.instruct = "y\nz";
  EXPECT_NE(speech_key(a, false), speech_key(b, false));
}

TEST(SpeechKey, IsTheSameForTheSameSound) {
  SpeechRequest a, b;
  b.text = "other words";
  b.cancellation = CancellationSource().ticket();
  b.on_progress = [](const SpeechProgress&) {};
  EXPECT_EQ(speech_key(a, true), speech_key(b, true));
}

}  // namespace
}  // namespace parlance
