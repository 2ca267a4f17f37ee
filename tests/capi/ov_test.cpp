// omnivoice.cpp's interface: layouts, order of checks, ownership, callbacks.
#include "ov.h"

#include <cstddef>
#include <cstring>

#include "assistant/regions.h"
#include "assistant/speech.h"
#include "capi/support/client.h"

namespace parlance::test {
namespace {

static_assert(sizeof(ov_audio) == 24 && sizeof(ov_init_params) == 32 && sizeof(ov_tts_params) == 160);
static_assert(offsetof(ov_tts_params, T_override) == 32 && offsetof(ov_tts_params, mg_seed) == 72 &&
              offsetof(ov_tts_params, ref_audio_tokens) == 80 && offsetof(ov_tts_params, cancel) == 128 &&
              offsetof(ov_tts_params, on_chunk_user_data) == 152);

class Ov : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ov_init_params params;
    ov_init_default_params(&params);
    const std::string base = demo_bundle() + "/tts/base.gguf", codec = demo_bundle() + "/tts/codec.gguf";
    params.model_path = base.c_str();
    params.codec_path = codec.c_str();
    context_ = ov_init(&params);
    ASSERT_NE(context_, nullptr) << ov_last_error();
  }
  static void TearDownTestSuite() { ov_free(context_); }

  static ov_tts_params defaults() {
    ov_tts_params params;
    ov_tts_default_params(&params);
    params.text = kQuestion;
    params.mg_num_step = 8;
    return params;
  }

  inline static ov_context* context_ = nullptr;
};

TEST_F(Ov, HasTheDefaultsThatCallersKnow) {
  EXPECT_NE(std::string(ov_version()), "");
  const ov_tts_params p = [] {
    ov_tts_params params;
    ov_tts_default_params(&params);
    return params;
  }();
  EXPECT_EQ(p.abi_version, 2);
  EXPECT_EQ(p.text, nullptr);
  EXPECT_EQ(p.chunk_duration_sec, 15);
  EXPECT_EQ(p.chunk_threshold_sec, 30);
  EXPECT_TRUE(p.denoise && p.preprocess_prompt);
  EXPECT_EQ(p.mg_num_step, 32);
  EXPECT_EQ(p.mg_guidance_scale, 2.0f);
  EXPECT_EQ(p.mg_t_shift, 0.1f);
  EXPECT_EQ(p.mg_layer_penalty_factor, 5.0f);
  EXPECT_EQ(p.mg_position_temperature, 5.0f);
  EXPECT_EQ(p.mg_class_temperature, 0.0f);
  EXPECT_EQ(p.mg_seed, 42u);
  EXPECT_EQ(p.cancel, nullptr);
  EXPECT_EQ(p.on_chunk, nullptr);
}

TEST_F(Ov, SpeaksAsTheSynthesizerDoes) {
  Choice choice;
  choice.files.folder = demo_bundle();
  Regions regions(choice);
  const auto region = *regions.tts.acquire();
  SpeechRequest request;
  request.text = kQuestion;
  request.decoding.n_step = 8;
  request.decoding.seed = 7;
  const auto expected = region->synthesizer->synthesize(request);
  ov_tts_params params = defaults();
  params.mg_seed = 7;
  ov_audio audio = {};
  ASSERT_EQ(ov_synthesize(context_, &params, &audio), OV_STATUS_OK) << ov_last_error();
  EXPECT_EQ(std::vector<float>(audio.samples, audio.samples + audio.n_samples), expected->samples);
  EXPECT_EQ(audio.sample_rate, 24000);
  EXPECT_EQ(audio.channels, 1);

  std::vector<float> streamed;
  params.on_chunk_user_data = &streamed;
  params.on_chunk = [](const float* samples, int n, void* user_data) {
    auto& all = *static_cast<std::vector<float>*>(user_data);
    all.insert(all.end(), samples, samples + n);
    return true;
  };
  ASSERT_EQ(ov_synthesize(context_, &params, &audio), OV_STATUS_OK) << ov_last_error();
  EXPECT_EQ(audio.samples, nullptr) << "what was there is freed, and sound goes elsewhere";
  EXPECT_FALSE(streamed.empty());

  params.on_chunk = [](const float*, int, void*) { return false; };
  EXPECT_EQ(ov_synthesize(context_, &params, nullptr), OV_STATUS_CANCELLED);
  EXPECT_NE(std::string(ov_last_error()).find("streaming synthesis failed"), std::string::npos);
  ov_audio_free(&audio);
  ov_audio_free(nullptr);
}

TEST_F(Ov, FramesAreTheCallers) {
  ov_tts_params params = defaults();
  params.T_override = 20;
  ov_audio audio = {};
  ASSERT_EQ(ov_synthesize(context_, &params, &audio), OV_STATUS_OK) << ov_last_error();
  EXPECT_LE(audio.n_samples, 20 * 960 + 24000);
  ov_audio_free(&audio);
  EXPECT_EQ(audio.n_samples, 0);
  EXPECT_EQ(ov_duration_sec_to_tokens(context_, 2), 50);
  EXPECT_EQ(ov_duration_sec_to_tokens(context_, 0), 1);
  EXPECT_EQ(ov_duration_sec_to_tokens(context_, -3), 1);
  EXPECT_EQ(ov_duration_sec_to_tokens(nullptr, 2), 1);
}

TEST_F(Ov, IsCancelledWhenTheCallerSaysSo) {
  struct Countdown {
    int n_left, n_asked = 0;
  };
  for (const int n : {0, 1, 5}) {
    Countdown countdown{n};
    ov_tts_params params = defaults();
    params.cancel_user_data = &countdown;
    params.cancel = [](void* user_data) {
      auto& self = *static_cast<Countdown*>(user_data);
      return self.n_asked++ >= self.n_left;
    };
    ov_audio audio = {};
    EXPECT_EQ(ov_synthesize(context_, &params, &audio), OV_STATUS_CANCELLED);
    EXPECT_STREQ(ov_last_error(), "cancelled by ov_cancel_cb");
    EXPECT_EQ(countdown.n_asked, n + 1) << "within one step, and not asked again";
    EXPECT_EQ(audio.samples, nullptr);
  }
}

TEST_F(Ov, RefusesInTheOrderThatCallersKnow) {
  ov_audio audio = {};
  ov_tts_params params = defaults();
  EXPECT_EQ(ov_synthesize(nullptr, &params, &audio), OV_STATUS_INVALID_PARAMS);
  EXPECT_EQ(ov_synthesize(context_, nullptr, &audio), OV_STATUS_INVALID_PARAMS);
  EXPECT_EQ(ov_synthesize(context_, &params, nullptr), OV_STATUS_INVALID_PARAMS);
  EXPECT_NE(std::string(ov_last_error()), "");
  const auto status = [&](auto change) {
    ov_tts_params changed = defaults();
    change(changed);
    const ov_status got = ov_synthesize(context_, &changed, &audio);
    EXPECT_EQ(audio.samples, nullptr);
    return got;
  };
  const int32_t codes[16] = {};
  const float sound[4] = {};
  EXPECT_EQ(status([](auto& p) { p.abi_version = 3; }), OV_STATUS_INVALID_PARAMS);
  EXPECT_EQ(status([&](auto& p) {
              p.ref_audio_tokens = codes;
              p.ref_T = 2;
              p.ref_audio_24k = sound;
              p.ref_n_samples = 4;
              p.instruct = "no such voice";
            }),
            OV_STATUS_INVALID_PARAMS);
  EXPECT_EQ(status([](auto& p) { p.instruct = "no such voice"; }), OV_STATUS_INSTRUCT_INVALID);
  EXPECT_EQ(status([](auto& p) { p.mg_num_step = 0; }), OV_STATUS_INVALID_PARAMS);
  EXPECT_EQ(status([](auto& p) { p.dump_dir = "/tmp"; }), OV_STATUS_INVALID_PARAMS);
  EXPECT_EQ(status([&](auto& p) {
              p.ref_audio_24k = sound;  // silence
              p.ref_n_samples = 4;
            }),
            OV_STATUS_GENERATE_FAILED);

  ov_init_params init;
  ov_init_default_params(&init);
  EXPECT_EQ(init.abi_version, 2);
  EXPECT_EQ(ov_init(nullptr), nullptr);
  EXPECT_EQ(ov_init(&init), nullptr) << "no model_path";
  init.model_path = "/no/such.gguf";
  EXPECT_EQ(ov_init(&init), nullptr);
  EXPECT_NE(std::string(ov_last_error()).find("/no/such.gguf"), std::string::npos);
  const std::string base = demo_bundle() + "/tts/base.gguf";
  init.model_path = base.c_str();
  ov_context* mute = ov_init(&init);
  ASSERT_NE(mute, nullptr) << ov_last_error();
  EXPECT_STREQ(ov_last_error(), "");
  EXPECT_EQ(ov_synthesize(mute, &params, &audio), OV_STATUS_INVALID_PARAMS) << "it has no codec";
  EXPECT_EQ(ov_duration_sec_to_tokens(mute, 5), 1);
  ov_free(mute);
  ov_free(mute);
  ov_free(nullptr);
}

TEST_F(Ov, EncodesAndSpeaksLikeReferences) {
  ov_tts_params params = defaults();
  ov_audio audio = {};
  ASSERT_EQ(ov_synthesize(context_, &params, &audio), OV_STATUS_OK);
  int32_t* tokens = nullptr;
  int k = 0, n_frames = 0;
  ASSERT_EQ(ov_encode_reference(context_, audio.samples, audio.n_samples, &tokens, &k, &n_frames),
            OV_STATUS_OK)
      << ov_last_error();
  EXPECT_EQ(k, 8);
  EXPECT_GT(n_frames, 10);
  params.ref_audio_tokens = tokens;
  params.ref_T = n_frames;
  params.ref_text = kQuestion;
  ov_audio like = {};
  EXPECT_EQ(ov_synthesize(context_, &params, &like), OV_STATUS_OK) << ov_last_error();
  EXPECT_GT(like.n_samples, 0);
  ov_audio_free(&like);
  ov_tokens_free(tokens);
  ov_tokens_free(nullptr);
  EXPECT_EQ(ov_encode_reference(context_, audio.samples, 0, &tokens, &k, &n_frames),
            OV_STATUS_INVALID_PARAMS);
  EXPECT_EQ(ov_encode_reference(nullptr, audio.samples, 5, &tokens, &k, &n_frames), OV_STATUS_INVALID_PARAMS);
  ov_audio_free(&audio);
}

TEST_F(Ov, LogsGoWhereTheyAreWanted) {
  std::string lines;
  ov_log_set(
      [](ov_log_level, const char* text, void* user_data) { *static_cast<std::string*>(user_data) += text; },
      &lines);
  ov_log_set(nullptr, nullptr);
  EXPECT_EQ(lines, "");
}

}  // namespace
}  // namespace parlance::test
