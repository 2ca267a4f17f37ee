// A microphone that records while the program does other things.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace parlance {

struct MicrophoneOptions {
  std::string device;          // its name or a part of it; empty: the system's default
  int sample_rate_hz = 16000;  // a wish
  double buffer_seconds = 10;  // how long reading may be late before samples are lost
};

// Records from open_microphone() until it is destroyed. One thread reads.
class Microphone {
 public:
  virtual ~Microphone() = default;

  virtual const std::string& name() const = 0;
  // What was wished where the device can do that, else the device's own rate.
  virtual int sample_rate_hz() const = 0;
  // What was recorded since the last call, as far as `out` has room; never waits. An error when the device is
  // gone and everything was read.
  virtual Result<int64_t> read(std::span<float> out) = 0;
  // How often samples were lost since nobody took them in time.
  virtual int64_t overruns() const = 0;
};

Result<std::unique_ptr<Microphone>> open_microphone(const MicrophoneOptions& options = {});

}  // namespace parlance
