#include "audio/resampler.h"

#include <soxr.h>

#include <algorithm>
#include <cassert>

#include "audio/limits.h"

namespace parlance {

void Resampler::Free::operator()(soxr* state) const {
  soxr_delete(state);
}

Result<Resampler> Resampler::create(int from_hz, int to_hz) {
  PARLANCE_CHECK(check_sample_rate("the sound to resample", from_hz));
  PARLANCE_CHECK(check_sample_rate("the resampled sound", to_hz));
  Resampler resampler(from_hz, to_hz);
  if (from_hz == to_hz) return resampler;
  const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  soxr_error_t error = nullptr;
  resampler.state_.reset(soxr_create(from_hz, to_hz, 1, &error, nullptr, &quality, nullptr));
  if (error) {
    return fail(ErrorCode::unsupported,
                "cannot resample from {} to {} Hz: {}; convert the sound to {} Hz first", from_hz, to_hz,
                error, to_hz);
  }
  return resampler;
}

// Without samples the library is told that the clip has ended.
Result<void> Resampler::run(const float* samples, size_t n, std::vector<float>& out) {
  constexpr size_t kPiece = 4096;  // of the output
  for (;;) {
    const size_t before = out.size();
    out.resize(before + kPiece);
    size_t n_taken = 0, n_made = 0;
    const soxr_error_t error =
        soxr_process(state_.get(), samples, n, &n_taken, out.data() + before, kPiece, &n_made);
    out.resize(before + n_made);
    if (error) {
      return fail(ErrorCode::unsupported,
                  "cannot resample from {} to {} Hz: {}; convert the sound to {} Hz first", from_hz_, to_hz_,
                  error, to_hz_);
    }
    if (samples) samples += n_taken;
    n -= n_taken;
    if (n == 0 && n_made < kPiece) return {};
  }
}

Result<void> Resampler::push(std::span<const float> samples, std::vector<float>& out) {
  assert(!is_finished_);
  if (!state_) {
    out.insert(out.end(), samples.begin(), samples.end());
    return {};
  }
  if (samples.empty()) return {};
  return run(samples.data(), samples.size(), out);
}

Result<void> Resampler::finish(std::vector<float>& out) {
  assert(!is_finished_);
  is_finished_ = true;
  if (!state_) return {};
  return run(nullptr, 0, out);
}

Result<std::vector<float>> resample(std::span<const float> samples, int from_hz, int to_hz) {
  PARLANCE_TRY(Resampler resampler, Resampler::create(from_hz, to_hz));
  std::vector<float> out;
  PARLANCE_CHECK(resampler.push(samples, out));
  PARLANCE_CHECK(resampler.finish(out));
  return out;
}

}  // namespace parlance
