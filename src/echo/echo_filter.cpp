#include "echo/echo_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace parlance {

namespace {

constexpr float kStays = 0.9998f;  // of a response from frame to frame; as much comes anew
constexpr float kAnywhere = 0.3f;  // and this part of it where nothing was before
constexpr float kFallDb = 1;       // of the response that is expected, from block to block
constexpr size_t kEvenBlocks = 4;  // which come before that: the direct sound may be in any of them
constexpr int kPasses = 2;         // over a frame: blocks are corrected as if the others were right
constexpr float kGrows = 0.5f;     // the estimate of what is not echo: a frame's share where it is louder
constexpr float kShrinks = 0.1f;   // and softer
constexpr size_t kNoiseNeighbours = 2;  // bins on each side that are averaged for it
constexpr float kNoPower = 1e-10f;      // keeps quotients finite
constexpr float kLeastVariance = 1e-12f;
constexpr size_t kFirstTelling = 2, kLastTelling = 120;  // bins that tell of a shift: 100 Hz to 6 kHz

}  // namespace

EchoFilter::EchoFilter()
    : played_power_(kBlocks * kEchoBins),
      last_played_(kEchoFrame),
      expected_(kBlocks * kEchoBins),
      variance_(kBlocks * kEchoBins),
      residual_(kEchoBins),
      uncertainty_(kEchoBins),
      noise_(kEchoBins),
      frames_(kBlocks * 2 * kEchoFrame) {}

void EchoFilter::begin(std::span<const float> coupling) {
  *this = EchoFilter();
  for (size_t block = 0; block < kBlocks; ++block) {
    const size_t n_falls = block - std::min(block, kEvenBlocks);
    const float share = std::pow(10.0f, -kFallDb * static_cast<float>(n_falls) / 10);
    for (size_t bin = 0; bin < kEchoBins; ++bin)
      expected_[block * kEchoBins + bin] = std::max(share * coupling[bin], kLeastVariance);
  }
  variance_ = expected_;
}

void EchoFilter::push(std::span<const float> played) {
  newest_ = (newest_ + kBlocks - 1) % kBlocks;
  const std::span<float> both = std::span(frames_).first(2 * kEchoFrame);
  std::ranges::copy(last_played_, both.begin());
  std::ranges::copy(played, both.begin() + kEchoFrame);
  std::ranges::copy(played, last_played_.begin());
  const size_t at = newest_ * kEchoBins;
  fft_.forward(both, std::span(played_.re).subspan(at, kEchoBins),
               std::span(played_.im).subspan(at, kEchoBins));
  for (size_t bin = at; bin < at + kEchoBins; ++bin)
    played_power_[bin] = played_.re[bin] * played_.re[bin] + played_.im[bin] * played_.im[bin];
  const bool sounds = std::ranges::any_of(played, [](float x) { return std::abs(x) > kEchoSilence; });
  n_sounding_ = sounds ? static_cast<int>(kBlocks) + 1 : std::max(n_sounding_ - 1, 0);
}

// The echo's spectrum, of which the second half of the samples counts, and the power by which it may be off.
void EchoFilter::estimate(Spectra& echo, std::span<float> uncertainty) const {
  std::ranges::fill(echo.re, 0.0f);
  std::ranges::fill(echo.im, 0.0f);
  std::ranges::fill(uncertainty, 0.0f);
  float* const re = echo.re.data();
  float* const im = echo.im.data();
  for (size_t block = 0; block < kBlocks; ++block) {
    const size_t at = block_at(block) * kEchoBins;
    const float* const x_re = played_.re.data() + at;
    const float* const x_im = played_.im.data() + at;
    const float* const power = played_power_.data() + at;
    const float* const w_re = response_.re.data() + block * kEchoBins;
    const float* const w_im = response_.im.data() + block * kEchoBins;
    const float* const variance = variance_.data() + block * kEchoBins;
    for (size_t bin = 0; bin < kEchoBins; ++bin) {
      re[bin] += x_re[bin] * w_re[bin] - x_im[bin] * w_im[bin];
      im[bin] += x_re[bin] * w_im[bin] + x_im[bin] * w_re[bin];
      uncertainty[bin] += variance[bin] * power[bin];
    }
  }
}

void EchoFilter::spectrum_of_frame(std::span<const float> frame, Spectra& spectrum) {
  const std::span<float> padded = std::span(frames_).first(2 * kEchoFrame);
  std::fill_n(padded.begin(), kEchoFrame, 0.0f);
  std::ranges::copy(frame, padded.begin() + kEchoFrame);
  fft_.forward(padded, spectrum.re, spectrum.im);
}

// Power of what is no echo, or cannot be told from it. It must rise at once: after a silence the first frame
// of a sound would teach too much.
void EchoFilter::observe_noise() {
  std::array<float, kEchoBins> power;
  for (size_t bin = 0; bin < kEchoBins; ++bin)
    power[bin] = error_.re[bin] * error_.re[bin] + error_.im[bin] * error_.im[bin];
  for (size_t bin = 0; bin < kEchoBins; ++bin) {
    const size_t first = bin - std::min(bin, kNoiseNeighbours),
                 end = std::min(bin + kNoiseNeighbours + 1, kEchoBins);
    float sum = 0;
    for (size_t i = first; i < end; ++i) sum += power[i];
    const float now = sum / static_cast<float>(end - first) + kNoPower;
    noise_[bin] =
        has_noise_ ? noise_[bin] + (now > noise_[bin] ? kGrows : kShrinks) * (now - noise_[bin]) : now;
  }
  has_noise_ = true;
}

// Kalman's step: what is left goes to the blocks by how far each may be off. Only the first pass over a frame
// makes them surer.
void EchoFilter::learn(bool is_first) {
  for (size_t block = 0; block < kBlocks; ++block) {
    const size_t at = block_at(block) * kEchoBins;
    const float* const x_re = played_.re.data() + at;
    const float* const x_im = played_.im.data() + at;
    const float* const power = played_power_.data() + at;
    float* const variance = variance_.data() + block * kEchoBins;
    float* const re = change_.re.data() + block * kEchoBins;
    float* const im = change_.im.data() + block * kEchoBins;
    for (size_t bin = 0; bin < kEchoBins; ++bin) {
      // A frame is half of what its spectrum is of, so that its noise counts twice.
      const float gain = variance[bin] / (uncertainty_[bin] + 2 * noise_[bin]);
      re[bin] = gain * (x_re[bin] * error_.re[bin] + x_im[bin] * error_.im[bin]);
      im[bin] = gain * (x_re[bin] * error_.im[bin] - x_im[bin] * error_.re[bin]);
      if (is_first) variance[bin] *= 1 - 0.5f * gain * power[bin];
    }
  }
  // A block is a frame long: what circular convolution adds behind that is no response.
  fft_.inverse(change_.re, change_.im, frames_);
  for (size_t block = 0; block < kBlocks; ++block)
    std::fill_n(frames_.data() + (2 * block + 1) * kEchoFrame, kEchoFrame, 0.0f);
  fft_.forward(frames_, change_.re, change_.im);
  for (size_t i = 0; i < change_.re.size(); ++i) {
    response_.re[i] += change_.re[i];
    response_.im[i] += change_.im[i];
  }
}

void EchoFilter::process(std::span<const float> heard, std::span<const float> played, std::span<float> left) {
  push(played);
  if (n_sounding_ == 0) {
    std::ranges::fill(residual_, 0.0f);
    std::ranges::copy(heard, left.begin());
    return;
  }
  spectrum_of_frame(heard, heard_);
  std::array<float, kEchoFrame> rest;
  for (int pass = 0; pass < kPasses; ++pass) {
    estimate(guess_, uncertainty_);
    const std::span<float> echo = std::span(frames_).first(2 * kEchoFrame);
    fft_.inverse(guess_.re, guess_.im, echo);
    for (size_t i = 0; i < kEchoFrame; ++i) rest[i] = heard[i] - echo[kEchoFrame + i];
    spectrum_of_frame(rest, error_);
    if (pass == 0) {
      std::ranges::copy(rest, left.begin());
      for (size_t bin = 0; bin < kEchoBins; ++bin) {
        residual_[bin] = 0.5f * uncertainty_[bin];
        echo_.re[bin] = heard_.re[bin] - error_.re[bin];
        echo_.im[bin] = heard_.im[bin] - error_.im[bin];
      }
      observe_noise();
    }
    learn(pass == 0);
  }
  // Somebody walks through the room, or moves the microphone: also what was nothing so far may come to be.
  constexpr float kComes = 1 - kStays * kStays;
  for (size_t i = 0; i < variance_.size(); ++i) {
    float& re = response_.re[i];
    float& im = response_.im[i];
    re *= kStays;
    im *= kStays;
    variance_[i] = kStays * kStays * variance_[i] + kComes * (re * re + im * im + kAnywhere * expected_[i]);
  }
}

// A sound that is late by t samples has turned by -wt: the least squares' t of all bins, each weighed by the
// power of what is not explained.
EchoFilter::Misalignment EchoFilter::misalignment() const {
  if (n_sounding_ == 0 || !has_noise_) return {};
  double turned = 0, information = 0;
  for (size_t bin = kFirstTelling; bin < kLastTelling; ++bin) {
    const double w = std::numbers::pi * static_cast<double>(bin) / static_cast<double>(kEchoFrame);
    const float across = heard_.im[bin] * echo_.re[bin] - heard_.re[bin] * echo_.im[bin];
    const float power = echo_.re[bin] * echo_.re[bin] + echo_.im[bin] * echo_.im[bin];
    const auto unexplained = static_cast<double>(noise_[bin] + 0.5f * residual_[bin] + kNoPower);
    turned -= w * static_cast<double>(across) / unexplained;
    information += w * w * static_cast<double>(power) / unexplained;
  }
  if (information <= 0) return {};
  // Neighbouring bins of a frame tell the same.
  return {.samples = turned / information, .information = 0.5 * information};
}

}  // namespace parlance
