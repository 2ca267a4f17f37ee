// Who is speaking.
#include <algorithm>

#include "capi/context.h"

namespace parlance::capi {

namespace {

struct Speaker {
  static constexpr HandleKind kKind = HandleKind::speaker;

  explicit Speaker(std::shared_ptr<SpeakerRegion> of) : region(std::move(of)) {}

  std::shared_ptr<SpeakerRegion> region;
};

Answer<void*> open_speaker(EliInferenceContext* ctx, const char* gguf_path) {
  CAPI_TRY(const auto context, context_of(ctx));
  CAPI_TRY(const std::string file, optional_text_of("gguf_path", gguf_path));
  CAPI_TRY(auto region, context->speaker(file));
  const int64_t n_embd = region->verifier.parameters().n_embd;
  if (n_embd > ELIZA_SPEAKER_EMBEDDING_DIM) {
    return refuse(ELIZA_ERR_BUNDLE_INVALID,
                  "the speaker model has {} values for a voice; callers have room for {}", n_embd,
                  ELIZA_SPEAKER_EMBEDDING_DIM);
  }
  return opened_in(ctx, std::make_shared<Speaker>(std::move(region)));
}

Answer<int> embed_voice(EliSpeaker* handle, const float* pcm, size_t n_samples, float* out_embedding) {
  CAPI_TRY(const auto speaker, object_of<Speaker>("speaker", handle));
  CAPI_CHECK(check_not_null("out_embedding", out_embedding));
  CAPI_TRY(const auto samples, samples_of("pcm", pcm, n_samples));
  if (samples.empty()) return refuse(ELIZA_ERR_INVALID_ARG, "pcm is empty");
  const std::vector<float> voice = speaker->region->verifier.embed(samples);
  std::fill(std::ranges::copy(voice, out_embedding).out, out_embedding + ELIZA_SPEAKER_EMBEDDING_DIM, 0.0f);
  return ELIZA_OK;
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance::capi;

int eliza_inference_speaker_supported() {
  return 1;
}

EliSpeaker* eliza_inference_speaker_open(EliInferenceContext* ctx, const char* gguf_path, char** out_error) {
  return handle_with<EliSpeaker>(out_error, [&] { return open_speaker(ctx, gguf_path); });
}

int eliza_inference_speaker_embed(EliSpeaker* speaker, const float* pcm, size_t n_samples,
                                  float* out_embedding, char** out_error) {
  return answer_with(out_error, [&] { return embed_voice(speaker, pcm, n_samples, out_embedding); });
}

void eliza_inference_speaker_close(EliSpeaker* speaker) {
  quietly([&] { handles().remove<Speaker>(speaker); });
}
