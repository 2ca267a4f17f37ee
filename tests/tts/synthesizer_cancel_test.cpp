// Speech ends between any two operations of the device, and leaves nothing behind.
#include <cmath>

#include "support/watched_device.h"
#include "tts/support/tiny_tts.h"

namespace parlance::test {
namespace {

class SynthesizerCancel : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
    auto model = TtsModel::load({.base = tts_fixtures() / "models/lm-tiny-f32.gguf",
                                 .codec = tts_fixtures() / "models/codec-tiny-f32.gguf"},
                                device_, {.pre_tokenizer = TtsPreTokenizer::eliza, .huge_pages = false});
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
    synthesizer_.emplace(*model_);
    request_.text = "Hello world. Hello.";
    request_.speed = 2;
    request_.decoding.n_step = 2;
    request_.chunking = {.chunk_seconds = 0.5f, .threshold_seconds = 0};
  }

  WatchedDevice device_{2};
  std::unique_ptr<TtsModel> model_;
  std::optional<Synthesizer> synthesizer_;
  SpeechRequest request_;
};

// What `compute` does with a ticket is ended at each of its operations; `is_right` says whether the rest of
// the world is as it was.
template <class Compute, class IsRight>
void cancel_everywhere(WatchedDevice& device, const Compute& compute, const IsRight& is_right) {
  int n_all = 0;
  device.on_operation = [&] { ++n_all; };
  ASSERT_FALSE(compute(Cancellation()));
  ASSERT_GT(n_all, 20);
  for (int at = -1; at < n_all; ++at) {
    const CancellationSource source;
    const Cancellation cancellation = source.ticket();
    if (at < 0) source.cancel();
    int n_operations = 0;
    device.on_operation = [&] {
      if (n_operations++ == at) source.cancel();
    };
    const std::optional<Error> error = compute(cancellation);
    ASSERT_TRUE(error) << at;
    EXPECT_EQ(error->code, ErrorCode::cancelled) << error->message;
    EXPECT_EQ(n_operations, at + 1) << "more was computed after the cancel";
    device.on_operation = {};
    if (at % 16 == 0 || at + 1 == n_all) {
      EXPECT_TRUE(is_right()) << at;
    }
  }
}

TEST_F(SynthesizerCancel, SpeechAtEveryOperation) {
  // As short as two parts can be: how many operations there are does not depend on it.
  request_.speed = 4;
  request_.chunking.chunk_seconds = 0.25f;
  const auto want = synthesizer_->synthesize(request_);
  ASSERT_TRUE(want) << want.error().message;
  ASSERT_GE(want->report.chunks.size(), 2u);
  cancel_everywhere(
      device_,
      [&](const Cancellation& cancellation) -> std::optional<Error> {
        SpeechRequest own = request_;
        own.cancellation = cancellation;
        const auto speech = synthesizer_->synthesize(own);
        return speech ? std::nullopt : std::optional(speech.error());
      },
      [&] {
        const auto speech = synthesizer_->synthesize(request_);
        return speech && speech->samples == want->samples;
      });
}

TEST_F(SynthesizerCancel, BlocksAtEveryOperation) {
  request_.chunking = {};
  request_.quality = SpeechQuality::fast;
  request_.shortcuts =
      SpeechShortcuts{.first_frames = 8, .block_frames = 8, .far_frames = 3, .kept_steps = 2};
  const auto want = synthesizer_->synthesize(request_);
  ASSERT_TRUE(want) << want.error().message;
  ASSERT_GE(want->report.chunks.front().codes.n_frames(), 20);
  cancel_everywhere(
      device_,
      [&](const Cancellation& cancellation) -> std::optional<Error> {
        SpeechRequest own = request_;
        own.cancellation = cancellation;
        const auto speech = synthesizer_->synthesize(own);
        return speech ? std::nullopt : std::optional(speech.error());
      },
      [&] {
        const auto speech = synthesizer_->synthesize(request_);
        return speech && speech->samples == want->samples;
      });
}

TEST_F(SynthesizerCancel, AVoiceAtEveryOperation) {
  std::vector<float> recording(kSpeechRateHz / 2);
  for (size_t i = 0; i < recording.size(); ++i) recording[i] = 0.3f * std::sin(0.05f * static_cast<float>(i));
  const auto want = Synthesizer(*model_).encode_voice(recording, "a");
  ASSERT_TRUE(want) << want.error().message;
  cancel_everywhere(
      device_,
      [&](const Cancellation& cancellation) -> std::optional<Error> {
        Synthesizer forgetful(*model_);  // knows no recording
        const auto voice = forgetful.encode_voice(recording, "a", {}, cancellation);
        return voice ? std::nullopt : std::optional(voice.error());
      },
      [&] {
        const auto voice = synthesizer_->encode_voice(recording, "a");
        return voice && voice->reference == want->reference;
      });
}

}  // namespace
}  // namespace parlance::test
