// A microphone beside the loudspeaker that the program plays on, without what that plays.
#pragma once

#include <functional>
#include <memory>

#include "assistant/sound_source.h"

namespace parlance {

// What a loudspeaker plays, with the silence between, at its rate, as it plays it.
struct PlayedSound {
  int sample_rate_hz;
  // What was not taken yet, as far as `out` has room; yields how many samples. From the source's thread.
  std::function<size_t(std::span<float> out)> take;
};

// Errors: a rate that cannot be worked with.
Result<std::unique_ptr<SoundSource>> without_echo(std::unique_ptr<SoundSource> microphone,
                                                  PlayedSound played);

}  // namespace parlance
