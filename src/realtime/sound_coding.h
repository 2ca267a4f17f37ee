// Sound between the socket's forms and the models' rates.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audio/resampler.h"
#include "base/result.h"
#include "realtime/settings.h"

namespace parlance {

// Bytes of a form to samples at another rate, as they come: half a sample waits for its other half.
class SoundDecoder {
 public:
  static Result<SoundDecoder> create(const SoundForm& form, int rate_hz);

  Result<void> push(std::string_view bytes, std::vector<float>& samples);
  // What the filter holds back; what comes behind begins anew.
  Result<void> flush(std::vector<float>& samples);

 private:
  SoundDecoder(const SoundForm& form, int rate_hz, Resampler resampler)
      : form_(form), rate_hz_(rate_hz), resampler_(std::move(resampler)) {}

  SoundForm form_;
  int rate_hz_;
  Resampler resampler_;
  std::optional<char> half_;
};

// Samples at a rate to bytes of a form.
class SoundEncoding {
 public:
  static Result<SoundEncoding> create(const SoundForm& form, int rate_hz);

  Result<void> push(std::span<const float> samples, std::string& bytes);
  Result<void> finish(std::string& bytes);

 private:
  SoundEncoding(const SoundForm& form, Resampler resampler) : form_(form), resampler_(std::move(resampler)) {}
  void append(std::span<const float> samples, std::string& bytes) const;

  SoundForm form_;
  Resampler resampler_;
};

}  // namespace parlance
