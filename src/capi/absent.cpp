// What later loaders know and this library does not have. A loader that misses one name binds none of its
// family's neighbours, so every name is there and says that it cannot.
#include "capi/context.h"

namespace parlance::capi {

namespace {

Answer<int> absent(const char* what) {
  return refuse(ELIZA_ERR_NOT_IMPLEMENTED,
                "this library has no {}; ask the function whose name ends in _supported "
                "first",
                what);
}

template <class Opaque>
Opaque* no_handle(EliInferenceContext* ctx, const char* what, char** out_error) {
  return handle_with<Opaque>(out_error, [&]() -> Answer<void*> {
    CAPI_CHECK(context_of(ctx));
    CAPI_CHECK(absent(what));
    return nullptr;
  });
}

// There are no handles of these families.
int no_object(const char* name, char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    return refuse(ELIZA_ERR_INVALID_ARG, "{} is no open handle; this library opens none of that kind", name);
  });
}

constexpr const char* kWakeWords = "detector of wake words";
constexpr const char* kDiarisation = "model that tells speakers in one recording apart";
constexpr const char* kVision = "model that sees";
constexpr const char* kKokoro = "Kokoro voices; OmniVoice speaks, see eliza_inference_tts_synthesize()";

int absent_in(EliInferenceContext* ctx, const char* what, char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_CHECK(context_of(ctx));
    return absent(what);
  });
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance::capi;

int eliza_inference_wakeword_supported() {
  return 0;
}

EliWakeword* eliza_inference_wakeword_open(EliInferenceContext* ctx, int, const char*, char** out_error) {
  return no_handle<EliWakeword>(ctx, kWakeWords, out_error);
}

int eliza_inference_wakeword_score(EliWakeword*, const float*, size_t, float*, char** out_error) {
  return no_object("wakeword", out_error);
}

int eliza_inference_wakeword_reset(EliWakeword*, char** out_error) {
  return no_object("wakeword", out_error);
}

void eliza_inference_wakeword_close(EliWakeword*) {}

int eliza_inference_diariz_supported() {
  return 0;
}

EliDiariz* eliza_inference_diariz_open(EliInferenceContext* ctx, const char*, char** out_error) {
  return no_handle<EliDiariz>(ctx, kDiarisation, out_error);
}

int eliza_inference_diariz_segment(EliDiariz*, const float*, size_t, int8_t*, size_t*, char** out_error) {
  return no_object("diariz", out_error);
}

void eliza_inference_diariz_close(EliDiariz*) {}

int eliza_inference_vision_supported() {
  return 0;
}

int eliza_inference_describe_image(EliInferenceContext* ctx, const unsigned char*, size_t, const char*,
                                   const char*, char*, size_t, char** out_error) {
  return absent_in(ctx, kVision, out_error);
}

int eliza_inference_kokoro_supported() {
  return 0;
}

int eliza_inference_kokoro_load(EliInferenceContext* ctx, const char*, const char*, int, char** out_error) {
  return absent_in(ctx, kKokoro, out_error);
}

int eliza_inference_kokoro_synthesize(EliInferenceContext* ctx, const char*, size_t, float, float*, size_t,
                                      char** out_error) {
  return absent_in(ctx, kKokoro, out_error);
}

int eliza_inference_kokoro_sample_rate(EliInferenceContext* ctx) {
  return absent_in(ctx, kKokoro, nullptr);
}
