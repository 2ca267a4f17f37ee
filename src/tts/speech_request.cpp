#include "tts/speech_request.h"

namespace parlance {

MaskGitOptions decoding_of(const SpeechRequest& request, bool has_reference) {
  MaskGitOptions decoding = request.decoding;
  if (decoding.n_step == kStepsOfQuality) decoding.n_step = steps_of(request.quality, has_reference);
  return decoding;
}

std::optional<SpeechShortcuts> shortcuts_of(const SpeechRequest& request) {
  if (request.quality == SpeechQuality::exact) return std::nullopt;
  return request.shortcuts ? *request.shortcuts : shortcuts_of(request.quality);
}

Result<void> check_decoding(const SpeechRequest& request) {
  PARLANCE_CHECK(check_options(decoding_of(request, /*has_reference=*/true)));
  if (request.quality == SpeechQuality::exact) return {};
  if (request.mask != GuidanceMask::hard) {
    return fail(ErrorCode::invalid_argument,
                "the soft guidance mask is for comparing, in exact quality only; leave one of the two out");
  }
  return check_shortcuts(*shortcuts_of(request));
}

}  // namespace parlance
