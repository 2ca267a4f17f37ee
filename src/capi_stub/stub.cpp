// The interface of profile 3 with nothing behind it: what a build without models links with, and what must
// never be shipped in the library's place (tools/verify-symbols.py refuses it). Arguments are looked at as
// the library looks at them, everything else is not implemented.
#include <cstdlib>
#include <cstring>
#include <string>

#define ELIZA_INFERENCE_ABI 3
#include "elizainference.h"

struct EliInferenceContext {};

namespace {

constexpr const char* kMark = "[libelizainference-stub] ";

int fail(char** out_error, int status, const std::string& message) {
  if (out_error) *out_error = strdup((kMark + message).c_str());
  return status;
}

int absent(char** out_error, const char* what) {
  return fail(out_error, ELIZA_ERR_NOT_IMPLEMENTED, std::string(what) + ": unsupported in ABI-only build");
}

// Whether one of the pointers is missing; says so.
template <class... Pointers>
bool lacks(char** out_error, const char* what, const Pointers*... pointers) {
  if (((pointers != nullptr) && ...)) return false;
  fail(out_error, ELIZA_ERR_INVALID_ARG, std::string(what) + ": a pointer is NULL");
  return true;
}

template <class Opaque>
Opaque* no_handle(char** out_error, const char* what) {
  absent(out_error, what);
  return nullptr;
}

int region(EliInferenceContext* ctx, const char* name, char** out_error) {
  if (lacks(out_error, "mmap", ctx, name)) return ELIZA_ERR_INVALID_ARG;
  for (const char* known : {"tts", "asr", "text", "dflash", "mtp", "vad", "wakeword"}) {
    if (std::strcmp(known, name) == 0) return absent(out_error, "mmap");
  }
  return fail(out_error, ELIZA_ERR_INVALID_ARG, "region_name is one of tts|asr|text|dflash|mtp|vad|wakeword");
}

template <class Handle, class Out>
int speech_call(Handle* handle, const char* what, const void* in, size_t n, Out* out, char** out_error) {
  if (lacks(out_error, what, handle, in, out)) return ELIZA_ERR_INVALID_ARG;
  if (n == 0) return fail(out_error, ELIZA_ERR_INVALID_ARG, std::string(what) + ": nothing was given");
  return absent(out_error, what);
}

}  // namespace

const char* eliza_inference_abi_version() {
  return "3";
}

EliInferenceContext* eliza_inference_create(const char* bundle_dir, char** out_error) {
  if (bundle_dir && *bundle_dir) return new EliInferenceContext;
  fail(out_error, ELIZA_ERR_INVALID_ARG, "bundle_dir is required");
  return nullptr;
}

void eliza_inference_destroy(EliInferenceContext* ctx) {
  delete ctx;
}

int eliza_inference_mmap_acquire(EliInferenceContext* ctx, const char* region_name, char** out_error) {
  return region(ctx, region_name, out_error);
}

int eliza_inference_mmap_evict(EliInferenceContext* ctx, const char* region_name, char** out_error) {
  return region(ctx, region_name, out_error);
}

void eliza_inference_free_string(char* str) {
  std::free(str);
}

int eliza_inference_tts_synthesize(EliInferenceContext* ctx, const char* text, size_t text_len, const char*,
                                   float* out_pcm, size_t, char** out_error) {
  return speech_call(ctx, "tts_synthesize", text, text_len, out_pcm, out_error);
}

int eliza_inference_tts_stream_supported() {
  return 0;
}

int eliza_inference_tts_synthesize_stream(EliInferenceContext* ctx, const char* text, size_t text_len,
                                          const char*, eliza_tts_chunk_cb on_chunk, void*, char** out_error) {
  const void* called = reinterpret_cast<const void*>(on_chunk);
  return speech_call(ctx, "tts_synthesize_stream", text, text_len, called, out_error);
}

int eliza_inference_cancel_tts(EliInferenceContext* ctx, char** out_error) {
  return lacks(out_error, "cancel_tts", ctx) ? ELIZA_ERR_INVALID_ARG : ELIZA_OK;
}

int eliza_inference_set_verifier_callback(EliInferenceContext* ctx, eliza_verifier_cb, void*,
                                          char** out_error) {
  return lacks(out_error, "set_verifier_callback", ctx) ? ELIZA_ERR_INVALID_ARG : ELIZA_OK;
}

int eliza_inference_vad_supported() {
  return 0;
}

EliVad* eliza_inference_vad_open(EliInferenceContext*, int, char** out_error) {
  return no_handle<EliVad>(out_error, "vad_open");
}

int eliza_inference_vad_process(EliVad* vad, const float* pcm, size_t n_samples, float* out_probability,
                                char** out_error) {
  return speech_call(vad, "vad_process", pcm, n_samples, out_probability, out_error);
}

int eliza_inference_vad_reset(EliVad* vad, char** out_error) {
  return lacks(out_error, "vad_reset", vad) ? ELIZA_ERR_INVALID_ARG : absent(out_error, "vad_reset");
}

void eliza_inference_vad_close(EliVad*) {}

int eliza_inference_asr_transcribe(EliInferenceContext* ctx, const float* pcm, size_t n_samples, int,
                                   char* out_text, size_t, char** out_error) {
  return speech_call(ctx, "asr_transcribe", pcm, n_samples, out_text, out_error);
}

int eliza_inference_asr_stream_supported() {
  return 0;
}

EliAsrStream* eliza_inference_asr_stream_open(EliInferenceContext*, int, char** out_error) {
  return no_handle<EliAsrStream>(out_error, "asr_stream_open");
}

int eliza_inference_asr_stream_feed(EliAsrStream* stream, const float* pcm, size_t n_samples,
                                    char** out_error) {
  return speech_call(stream, "asr_stream_feed", pcm, n_samples, stream, out_error);
}

int eliza_inference_asr_stream_partial(EliAsrStream* stream, char* out_text, size_t, int*, size_t*,
                                       char** out_error) {
  return speech_call(stream, "asr_stream_partial", stream, 1, out_text, out_error);
}

int eliza_inference_asr_stream_finish(EliAsrStream* stream, char* out_text, size_t, int*, size_t*,
                                      char** out_error) {
  return speech_call(stream, "asr_stream_finish", stream, 1, out_text, out_error);
}

void eliza_inference_asr_stream_close(EliAsrStream*) {}
