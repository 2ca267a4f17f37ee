// WebRTC's audio processing: an adaptive filter, a suppressor of what that leaves, and suppression of noise.
#include "echo/libraries.h"

#ifdef PARLANCE_HAS_WEBRTC_AUDIO
#include <webrtc/modules/audio_processing/include/audio_processing.h>

#include <algorithm>

namespace parlance {

namespace {

class WebrtcCanceller final : public EchoCanceller {
 public:
  WebrtcCanceller() {
    webrtc::Config config;
    config.Set<webrtc::ExtendedFilter>(new webrtc::ExtendedFilter(true));  // of 128 ms
    processing_.reset(webrtc::AudioProcessing::Create(config));
    const webrtc::StreamConfig mono(kEchoRateHz, 1);
    processing_->Initialize({{mono, mono, mono, mono}});
    webrtc::EchoCancellation& echo = *processing_->echo_cancellation();
    echo.enable_drift_compensation(false);
    echo.set_suppression_level(webrtc::EchoCancellation::kLowSuppression);
    echo.Enable(true);
    processing_->high_pass_filter()->Enable(true);
    processing_->noise_suppression()->set_level(webrtc::NoiseSuppression::kModerate);
    processing_->noise_suppression()->Enable(true);
  }

  void process(std::span<const float> heard, std::span<const float> played, std::span<float> left) override {
    const webrtc::StreamConfig mono(kEchoRateHz, 1);
    const float* const from[] = {played.data()};
    float* const nowhere[] = {rendered_};
    processing_->ProcessReverseStream(from, mono, mono, nowhere);
    processing_->set_stream_delay_ms(0);
    const float* const in[] = {heard.data()};
    float* const out[] = {left.data()};
    if (processing_->ProcessStream(in, mono, mono, out) != webrtc::AudioProcessing::kNoError)
      std::ranges::copy(heard, left.begin());
  }

 private:
  std::unique_ptr<webrtc::AudioProcessing> processing_;
  float rendered_[kEchoFrame];
};

}  // namespace

std::unique_ptr<EchoCanceller> make_webrtc_canceller() {
  return std::make_unique<WebrtcCanceller>();
}

}  // namespace parlance
#endif
