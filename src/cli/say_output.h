// Where speech goes: a WAV file, standard output or a speaker.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "audio/wav_writer.h"
#include "base/result.h"
#include "cli/terminal/console.h"

namespace parlance {

class SpeechOutput {
 public:
  virtual ~SpeechOutput() = default;

  virtual Result<void> write(std::span<const float> samples) = 0;  // at kSpeechRateHz
  // Returns when all is written, or heard.
  virtual Result<void> finish() = 0;
  // Whether somebody listens, or reads, while it comes.
  virtual bool is_live() const { return true; }
  virtual std::string name() const = 0;
};

// "-": WAV on standard output, of unknown length. A file appears when speech is complete.
Result<std::unique_ptr<SpeechOutput>> open_wav_output(const Console& io, const std::string& path,
                                                      WavEncoding encoding);

// Empty: the system's own choice. What waits for the speaker goes on until `is_over` says that nobody wants
// to listen any more.
Result<std::unique_ptr<SpeechOutput>> open_speaker_output(const std::string& device,
                                                          std::function<bool()> is_over);

}  // namespace parlance
