// SpeexDSP: an adaptive filter, and a suppressor of noise and of what echo is left.
#include "echo/libraries.h"

#ifdef PARLANCE_HAS_SPEEXDSP
#include <speex/speex_echo.h>
#include <speex/speex_preprocess.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace parlance {

namespace {

// How long a room's sound takes to die away. A longer filter learns more slowly.
constexpr int kTailMs = 160, kTailOfFilterMs = 256;

using Frame = std::array<spx_int16_t, kEchoFrame>;

Frame to_whole(std::span<const float> samples) {
  Frame frame;
  std::ranges::transform(samples, frame.begin(), [](float x) {
    return static_cast<spx_int16_t>(std::lround(std::clamp(x, -1.0f, 1.0f) * 32767));
  });
  return frame;
}

class SpeexCanceller final : public EchoCanceller {
 public:
  SpeexCanceller(int tail_ms, bool has_suppressor)
      : echo_(speex_echo_state_init(kEchoFrame, kEchoRateHz * tail_ms / 1000)) {
    int rate = kEchoRateHz;
    speex_echo_ctl(echo_.get(), SPEEX_ECHO_SET_SAMPLING_RATE, &rate);
    if (!has_suppressor) return;
    rest_.reset(speex_preprocess_state_init(kEchoFrame, kEchoRateHz));
    speex_preprocess_ctl(rest_.get(), SPEEX_PREPROCESS_SET_ECHO_STATE, echo_.get());
  }

  void process(std::span<const float> heard, std::span<const float> played, std::span<float> left) override {
    const Frame in = to_whole(heard), reference = to_whole(played);
    Frame out;
    speex_echo_cancellation(echo_.get(), in.data(), reference.data(), out.data());
    if (rest_) speex_preprocess_run(rest_.get(), out.data());
    std::ranges::transform(out, left.begin(), [](spx_int16_t x) { return static_cast<float>(x) / 32768; });
  }

 private:
  struct Free {
    void operator()(SpeexEchoState* state) const { speex_echo_state_destroy(state); }
    void operator()(SpeexPreprocessState* state) const { speex_preprocess_state_destroy(state); }
  };

  std::unique_ptr<SpeexEchoState, Free> echo_;
  std::unique_ptr<SpeexPreprocessState, Free> rest_;
};

}  // namespace

std::unique_ptr<EchoCanceller> make_speex_canceller() {
  return std::make_unique<SpeexCanceller>(kTailMs, true);
}

std::unique_ptr<EchoCanceller> make_speex_filter() {
  return std::make_unique<SpeexCanceller>(kTailOfFilterMs, false);
}

}  // namespace parlance
#endif
