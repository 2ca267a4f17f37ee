#include "tts/audio_codes.h"

namespace parlance {

AudioCodes first_frames(const AudioCodes& codes, int64_t n) {
  AudioCodes first{.n_codebook = codes.n_codebook, .codes = {}};
  for (int64_t k = 0; k < codes.n_codebook; ++k) {
    const auto row = codes.codes.begin() + k * codes.n_frames();
    first.codes.insert(first.codes.end(), row, row + n);
  }
  return first;
}

Result<void> check_codes(const AudioCodes& codes, int64_t n_codebook, int32_t codebook_size,
                         std::string_view name) {
  if (codes.n_codebook != n_codebook) {
    return fail(ErrorCode::invalid_argument,
                "{}: has codes of {} codebooks, the speech model has {}; encode the reference again", name,
                codes.n_codebook, n_codebook);
  }
  for (const int32_t code : codes.codes) {
    if (code < 0 || code >= codebook_size) {
      return fail(ErrorCode::corrupt_file,
                  "{}: has code {}, the codec knows 0 to {}; encode the reference again", name, code,
                  codebook_size - 1);
    }
  }
  return {};
}

}  // namespace parlance
