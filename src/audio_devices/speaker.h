// A speaker that plays while the program does other things.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace parlance {

struct SpeakerOptions {
  std::string device;          // its name or a part of it; empty: the system's default
  int sample_rate_hz = 24000;  // a wish
  double buffer_seconds = 2;   // how much write() takes ahead
  double played_seconds = 0;   // of what was played, for read_played()
};

// Plays what was written, and silence when there is nothing. One thread calls.
class Speaker {
 public:
  virtual ~Speaker() = default;

  virtual const std::string& name() const = 0;
  // What was wished where the device can do that, else the device's own rate.
  virtual int sample_rate_hz() const = 0;
  // Takes as many samples as there is room for and yields how many; never waits. An error when the device is
  // gone.
  virtual Result<int64_t> write(std::span<const float> samples) = 0;
  // Waits until everything written has been heard.
  virtual Result<void> drain() = 0;
  // Forgets what was written and not played; silence follows within 10 ms and the device's own delay. What is
  // written afterwards is played.
  virtual void stop() = 0;
  // Samples handed to the device, without silence and without what stop() dropped.
  virtual int64_t played_frames() const = 0;
  // What the device was given since it was opened, with silence where there was nothing, as far as it was not read and
  // SpeakerOptions::played_seconds has room. One other thread may call.
  virtual size_t read_played(std::span<float> out) {
    (void)out;
    return 0;
  }
};

Result<std::unique_ptr<Speaker>> open_speaker(const SpeakerOptions& options = {});

}  // namespace parlance
