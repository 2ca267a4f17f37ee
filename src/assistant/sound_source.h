// Sound, wherever it comes from: mono samples at kMelSampleRateHz, as they come.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "audio/pcm_stream.h"
#include "base/result.h"

namespace parlance {

class SoundSource {
 public:
  virtual ~SoundSource() = default;

  // Waits for more and appends it to `out`. False: the sound has ended, with what was appended.
  virtual Result<bool> read(std::vector<float>& out) = 0;
  // Whether it waits for its reader; a microphone does not.
  virtual bool is_patient() const { return true; }
  // How often sound was lost because nobody read it in time.
  virtual int64_t n_lost() const { return 0; }
  // Root mean square from which on what was read last may be somebody's voice. 0: nothing is known of it.
  virtual double voice_rms() const { return 0; }
};

Result<std::unique_ptr<SoundSource>> open_recording(const std::filesystem::path& path);

// WAV, known by its header, else raw samples of the format.
std::unique_ptr<SoundSource> open_standard_input(std::istream& in, const PcmFormat& raw_format);

// Records until `is_over` says so. `name` gets that of the device.
Result<std::unique_ptr<SoundSource>> open_microphone_source(const std::string& wanted,
                                                            std::function<bool()> is_over, std::string& name);

}  // namespace parlance
