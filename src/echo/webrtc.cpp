// WebRTC's audio processing: an adaptive filter, a suppressor of what that leaves, and suppression of noise.
#include "echo/libraries.h"

#ifdef PARLANCE_HAS_WEBRTC_AUDIO
#include <webrtc/modules/audio_processing/include/audio_processing.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace parlance {

namespace {

// Far below what any microphone hears: exact silence makes the library compute what is no number, and it
// never recovers from that.
constexpr float kHiss = 1e-5f;

class WebrtcCanceller final : public EchoCanceller {
 public:
  explicit WebrtcCanceller(std::unique_ptr<EchoCanceller> before) : before_(std::move(before)) { begin(); }

  void process(std::span<const float> heard, std::span<const float> played, std::span<float> left) override {
    if (before_) {
      before_->process(heard, played, heard_);
    } else {
      std::ranges::copy(heard, heard_);
    }
    for (float& x : heard_) x += std::uniform_real_distribution<float>(-kHiss, kHiss)(random_);
    const webrtc::StreamConfig mono(kEchoRateHz, 1);
    const float* const from[] = {played.data()};
    float* const nowhere[] = {rendered_};
    processing_->ProcessReverseStream(from, mono, mono, nowhere);
    processing_->set_stream_delay_ms(0);
    const float* const in[] = {heard_};
    float* const out[] = {left.data()};
    if (processing_->ProcessStream(in, mono, mono, out) != webrtc::AudioProcessing::kNoError)
      std::ranges::copy(heard_, left.begin());
    if (std::ranges::all_of(left, [](float x) { return std::isfinite(x); })) return;
    std::ranges::copy(heard_, left.begin());
    begin();
  }

 private:
  void begin() {
    webrtc::Config config;
    config.Set<webrtc::ExtendedFilter>(new webrtc::ExtendedFilter(true));  // of 128 ms
    processing_.reset(webrtc::AudioProcessing::Create(config));
    const webrtc::StreamConfig mono(kEchoRateHz, 1);
    processing_->Initialize({{mono, mono, mono, mono}});
    webrtc::EchoCancellation& echo = *processing_->echo_cancellation();
    echo.enable_drift_compensation(false);
    echo.set_suppression_level(webrtc::EchoCancellation::kModerateSuppression);
    echo.Enable(true);
    processing_->high_pass_filter()->Enable(true);
    processing_->noise_suppression()->set_level(webrtc::NoiseSuppression::kModerate);
    processing_->noise_suppression()->Enable(true);
  }

  std::unique_ptr<EchoCanceller> before_;
  std::unique_ptr<webrtc::AudioProcessing> processing_;
  std::minstd_rand random_;
  float heard_[kEchoFrame], rendered_[kEchoFrame];
};

}  // namespace

std::unique_ptr<EchoCanceller> make_webrtc_canceller(std::unique_ptr<EchoCanceller> before) {
  return std::make_unique<WebrtcCanceller>(std::move(before));
}

}  // namespace parlance
#endif
