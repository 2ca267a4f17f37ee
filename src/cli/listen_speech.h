// Where speech is: in what comes from a source, without a recogniser, and as a picture.
#pragma once

#include <memory>
#include <span>

#include "assistant/sound_source.h"
#include "assistant/speech_track.h"
#include "cli/listen_options.h"
#include "cli/terminal/console.h"
#include "vad/silero.h"

namespace parlance {

// Writes the picture that --plot asks for, if it does.
Result<void> write_plot(const ListenOptions& options, std::span<const float> samples,
                        const SpeechTrack& track);

// --vad-only: the segments of all that the source gives. Yields the exit code.
Result<int> listen_for_speech(const Console& io, const ListenOptions& options, SoundSource& source,
                              std::shared_ptr<const SileroModel> model,
                              const Cancellation& cancellation = {});

}  // namespace parlance
