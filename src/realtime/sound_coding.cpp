#include "realtime/sound_coding.h"

#include "audio/g711.h"
#include "audio/wav_writer.h"

namespace parlance {

namespace {

G711Law law_of(const SoundForm& form) {
  return form.coding == SoundForm::Coding::ulaw ? G711Law::mu : G711Law::a;
}

}  // namespace

Result<SoundDecoder> SoundDecoder::create(const SoundForm& form, int rate_hz) {
  PARLANCE_TRY(Resampler resampler, Resampler::create(form.rate_hz, rate_hz));
  return SoundDecoder(form, rate_hz, std::move(resampler));
}

Result<void> SoundDecoder::push(std::string_view bytes, std::vector<float>& samples) {
  std::vector<float> decoded;
  if (form_.coding != SoundForm::Coding::pcm) {
    append_g711_samples(law_of(form_), std::as_bytes(std::span(bytes)), decoded);
    return resampler_.push(decoded, samples);
  }
  decoded.reserve(bytes.size() / 2 + 1);
  const auto take = [&](char low, char high) {
    const auto bits = static_cast<uint16_t>(static_cast<uint8_t>(low) | static_cast<uint8_t>(high) << 8);
    decoded.push_back(static_cast<float>(static_cast<int16_t>(bits)) / 32768);
  };
  size_t at = 0;
  if (half_ && !bytes.empty()) {
    take(*half_, bytes[at++]);
    half_.reset();
  }
  for (; at + 1 < bytes.size(); at += 2) take(bytes[at], bytes[at + 1]);
  if (at < bytes.size()) half_ = bytes[at];
  return resampler_.push(decoded, samples);
}

Result<void> SoundDecoder::flush(std::vector<float>& samples) {
  PARLANCE_CHECK(resampler_.finish(samples));
  PARLANCE_TRY(resampler_, Resampler::create(form_.rate_hz, rate_hz_));
  return {};
}

Result<SoundEncoding> SoundEncoding::create(const SoundForm& form, int rate_hz) {
  PARLANCE_TRY(Resampler resampler, Resampler::create(rate_hz, form.rate_hz));
  return SoundEncoding(form, std::move(resampler));
}

void SoundEncoding::append(std::span<const float> samples, std::string& bytes) const {
  std::vector<std::byte> encoded;
  if (form_.coding == SoundForm::Coding::pcm) {
    append_s16(samples, encoded);
  } else {
    append_g711(law_of(form_), samples, encoded);
  }
  bytes.append(reinterpret_cast<const char*>(encoded.data()), encoded.size());
}

Result<void> SoundEncoding::push(std::span<const float> samples, std::string& bytes) {
  std::vector<float> resampled;
  PARLANCE_CHECK(resampler_.push(samples, resampled));
  append(resampled, bytes);
  return {};
}

Result<void> SoundEncoding::finish(std::string& bytes) {
  std::vector<float> rest;
  PARLANCE_CHECK(resampler_.finish(rest));
  append(rest, bytes);
  return {};
}

}  // namespace parlance
