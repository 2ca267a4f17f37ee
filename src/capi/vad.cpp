// Whether somebody is speaking.
#include <mutex>

#include "capi/context.h"
#include "vad/silero.h"

namespace parlance::capi {

namespace {

struct Detector {
  static constexpr HandleKind kKind = HandleKind::detector;

  explicit Detector(std::shared_ptr<VadRegion> of) : region(std::move(of)), vad(region->model) {}

  std::shared_ptr<VadRegion> region;
  std::mutex mutex;
  SileroVad vad;
};

Answer<void*> open_detector(EliInferenceContext* ctx, int sample_rate_hz) {
  CAPI_TRY(const auto context, context_of(ctx));
  if (sample_rate_hz != kSileroSampleRateHz) {
    return refuse(ELIZA_ERR_INVALID_ARG, "sample_rate_hz is {}; the detector hears {}", sample_rate_hz,
                  kSileroSampleRateHz);
  }
  CAPI_TRY(auto region, context->vad());
  return opened_in(ctx, std::make_shared<Detector>(std::move(region)));
}

Answer<int> process(EliVad* handle, const float* pcm, size_t n_samples, float* out_probability) {
  CAPI_TRY(const auto detector, object_of<Detector>("vad", handle));
  CAPI_CHECK(check_not_null("pcm", pcm));
  CAPI_CHECK(check_not_null("out_probability", out_probability));
  if (n_samples != kSileroWindow) {
    return refuse(ELIZA_ERR_INVALID_ARG, "n_samples is {}; a window has {}", n_samples, kSileroWindow);
  }
  const std::lock_guard lock(detector->mutex);
  *out_probability = detector->vad.process(std::span<const float, kSileroWindow>(pcm, kSileroWindow));
  return ELIZA_OK;
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance::capi;

int eliza_inference_vad_supported() {
  return 1;
}

EliVad* eliza_inference_vad_open(EliInferenceContext* ctx, int sample_rate_hz, char** out_error) {
  return handle_with<EliVad>(out_error, [&] { return open_detector(ctx, sample_rate_hz); });
}

int eliza_inference_vad_process(EliVad* vad, const float* pcm, size_t n_samples, float* out_probability,
                                char** out_error) {
  return answer_with(out_error, [&] { return process(vad, pcm, n_samples, out_probability); });
}

int eliza_inference_vad_reset(EliVad* vad, char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(const auto detector, object_of<Detector>("vad", vad));
    const std::lock_guard lock(detector->mutex);
    detector->vad.reset();
    return ELIZA_OK;
  });
}

void eliza_inference_vad_close(EliVad* vad) {
  quietly([&] { handles().remove<Detector>(vad); });
}
