// Text to sound.
#include "assistant/speech.h"
#include "capi/context.h"

namespace parlance::capi {

namespace {

// What one call asks for: a region that stays while it lasts, and the request.
struct SpeechCall {
  std::shared_ptr<BundleContext> context;
  Narrator narrator;
  SpeechRequest request;
  std::string voice;
};

// A voice of the bundle by its id. Files are not for callers of this door to name.
Answer<Voice> voice_of(const Narrator& narrator, const std::string& id) {
  if (id.find('/') != std::string::npos || id.find("..") != std::string::npos) {
    return refuse(ELIZA_ERR_INVALID_ARG,
                  "speaker_preset_id is '{}'; it is the id in a name cache/voice-preset-<id>.bin", id);
  }
  auto voice = narrator.voice({.name = id});
  if (voice) return *std::move(voice);
  Refusal refusal(std::move(voice).error());
  if (refusal.status == ELIZA_ERR_BUNDLE_INVALID && !id.empty()) {
    bool is_known = false;
    for (const std::string& known : narrator.voices()) is_known = is_known || known == id;
    if (!is_known) refusal.status = ELIZA_ERR_INVALID_ARG;
  }
  return tl::unexpected<Refusal>(std::move(refusal));
}

Answer<SpeechCall> speech_call(EliInferenceContext* ctx, const char* text, size_t text_len,
                               const char* speaker_preset_id) {
  CAPI_TRY(auto context, context_of(ctx));
  CAPI_TRY(const std::string_view words, text_of("text", text, text_len));
  CAPI_TRY(std::string voice, optional_text_of("speaker_preset_id", speaker_preset_id));
  CAPI_TRY(auto region, context->tts());
  SpeechCall call{
      .context = std::move(context), .narrator = Narrator(std::move(region)), .request = {}, .voice = {}};
  call.request.text = words;
  CAPI_TRY(call.request.voice, voice_of(call.narrator, voice));
  call.voice = std::move(voice);
  return call;
}

Answer<int> speak(EliInferenceContext* ctx, const char* text, size_t text_len, const char* speaker_preset_id,
                  float* out_pcm, size_t max_samples) {
  if (max_samples > 0) CAPI_CHECK(check_not_null("out_pcm", out_pcm));
  CAPI_TRY(SpeechCall call, speech_call(ctx, text, text_len, speaker_preset_id));
  const EarlyCancellation::Work work(call.context->speech_cancellation());
  std::vector<float> samples;
  if (auto unheard = call.context->take_unheard(call.request.text, call.voice)) {
    samples = *std::move(unheard);
  } else {
    call.request.cancellation = work.ticket();
    call.context->knobs().apply(call.request);
    CAPI_TRY(Speech speech, call.narrator.say(call.request));
    samples = std::move(speech.samples);
  }
  if (samples.size() > max_samples) {
    const size_t n = samples.size();
    call.context->keep_unheard({call.request.text, call.voice, std::move(samples)});
    return refuse(ELIZA_ERR_INVALID_ARG, "out_pcm has room for {} samples; required samples={}", max_samples,
                  n);
  }
  std::ranges::copy(samples, out_pcm);
  return static_cast<int>(samples.size());
}

Answer<int> stream_speech(EliInferenceContext* ctx, const char* text, size_t text_len,
                          const char* speaker_preset_id, eliza_tts_chunk_cb on_chunk, void* user_data) {
  CAPI_CHECK(check_not_null("on_chunk", reinterpret_cast<const void*>(on_chunk)));
  CAPI_TRY(SpeechCall call, speech_call(ctx, text, text_len, speaker_preset_id));
  const EarlyCancellation::Work work(call.context->speech_cancellation());
  call.request.cancellation = work.ticket();
  call.request.chunking = kStreamedChunking;
  call.context->knobs().apply(call.request);
  const auto report = call.narrator.stream(call.request, [&](std::span<const float> samples, bool is_last) {
    if (is_last) return true;  // said below, when all else is over
    return on_chunk(samples.data(), samples.size(), 0, user_data) == 0;
  });
  on_chunk(nullptr, 0, 1, user_data);
  CAPI_CHECK(report);
  return ELIZA_OK;
}

Answer<int> encode_reference(EliInferenceContext* ctx, const float* pcm, size_t n_samples, int sample_rate_hz,
                             int* out_K, int* out_ref_T, int** out_tokens) {
  CAPI_TRY(const auto context, context_of(ctx));
  CAPI_CHECK(check_not_null("out_K", out_K));
  CAPI_CHECK(check_not_null("out_ref_T", out_ref_T));
  CAPI_CHECK(check_not_null("out_tokens", out_tokens));
  *out_K = *out_ref_T = 0;
  *out_tokens = nullptr;
  CAPI_TRY(const auto samples, samples_of("pcm", pcm, n_samples));
  if (sample_rate_hz != kSpeechRateHz) {
    return refuse(ELIZA_ERR_INVALID_ARG, "sample_rate_hz is {}; references have {}", sample_rate_hz,
                  kSpeechRateHz);
  }
  CAPI_TRY(const auto region, context->tts());
  CAPI_TRY(const Voice voice, region->synthesizer->encode_voice(samples, {}, {.removes_silence = false}));
  CAPI_TRY(*out_tokens, copy_of(voice.reference.codes));
  *out_K = static_cast<int>(voice.reference.n_codebook);
  *out_ref_T = static_cast<int>(voice.reference.n_frames());
  return ELIZA_OK;
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance::capi;

int eliza_inference_tts_synthesize(EliInferenceContext* ctx, const char* text, size_t text_len,
                                   const char* speaker_preset_id, float* out_pcm, size_t max_samples,
                                   char** out_error) {
  return answer_with(out_error,
                     [&] { return speak(ctx, text, text_len, speaker_preset_id, out_pcm, max_samples); });
}

int eliza_inference_tts_stream_supported() {
  return 1;
}

int eliza_inference_tts_synthesize_stream(EliInferenceContext* ctx, const char* text, size_t text_len,
                                          const char* speaker_preset_id, eliza_tts_chunk_cb on_chunk,
                                          void* user_data, char** out_error) {
  return answer_with(
      out_error, [&] { return stream_speech(ctx, text, text_len, speaker_preset_id, on_chunk, user_data); });
}

int eliza_inference_cancel_tts(EliInferenceContext* ctx, char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(const auto context, context_of(ctx));
    context->speech_cancellation().cancel();
    return ELIZA_OK;
  });
}

int eliza_inference_encode_reference(EliInferenceContext* ctx, const float* pcm, size_t n_samples,
                                     int sample_rate_hz, int* out_K, int* out_ref_T, int** out_tokens,
                                     char** out_error) {
  return answer_with(out_error, [&] {
    return encode_reference(ctx, pcm, n_samples, sample_rate_hz, out_K, out_ref_T, out_tokens);
  });
}
