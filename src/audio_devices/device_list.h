// The sound devices of this machine.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace parlance {

struct AudioDevice {
  std::string name;
  std::string system;  // what it is reached through: ALSA, JACK, Core Audio, ...
  int n_inputs = 0, n_outputs = 0;
  int sample_rate_hz = 0;  // its own
  bool is_default_input = false, is_default_output = false;
};

// As they are when the program's first device is opened or listed; one that is plugged in later is seen after
// all devices were closed.
Result<std::vector<AudioDevice>> list_audio_devices();

}  // namespace parlance
