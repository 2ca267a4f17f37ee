// The log-mel front end of the speech recogniser: 128 bands of 0 to 8000 Hz, one frame every 10 ms, each
// centred on its first sample. It takes samples as they come; any split of the same samples gives the same
// frames, bit for bit.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace parlance {

inline constexpr int kMelSampleRateHz = 16000;
inline constexpr int64_t kMelBands = 128;
inline constexpr int64_t kMelHop = 160;  // samples from one frame to the next

// The defaults are what the published model was trained with: the last frame is dropped, and a clip of less
// than half a second continues with silence up to there.
struct MelOptions {
  float floor = 1e-10f;  // smaller energies count as this
  bool keeps_last_frame = false;
};

// What the eliza-1 program computes: one frame more, and no shortest clip.
inline constexpr MelOptions kElizaMel{.floor = 0x1p-24f, .keeps_last_frame = true};

// The frames of a clip that ends where the samples end now.
struct MelClip {
  int64_t n_frames = 0;
  int64_t first = 0;        // frames before this one are the front end's final ones
  std::vector<float> tail;  // [kMelBands, n_frames - first], raw
  float largest = -std::numeric_limits<float>::infinity();  // of all frames
};

// Frames are "raw", log10 of the energies of the bands, until the largest value of the clip is known
// (normalise_mel). Samples are finite.
class MelFrontEnd {
 public:
  explicit MelFrontEnd(const MelOptions& options = {});

  // Continues with mono samples at kMelSampleRateHz.
  void push(std::span<const float> samples);
  int64_t n_samples() const { return n_samples_; }

  // Frames that no further sample changes: frame t is final when there are 160 t + 200 samples.
  int64_t n_final() const { return n_final_; }
  // Final frames first..last-1 [kMelBands, last - first], raw; valid until the next call that changes the
  // state.
  std::span<const float> frames(int64_t first, int64_t last) const;
  std::span<const float> frame(int64_t t) const { return frames(t, t + 1); }
  // The largest value of all final frames, also of those that were released; -infinity before the first.
  float largest() const { return largest_; }

  // The clip that ends here. More samples may follow afterwards: the state does not change.
  MelClip finish() const;

  // Frees final frames that are not needed any more, so that a stream can go on for ever.
  void release_before(int64_t t);

 private:
  float sample_at(int64_t index, int64_t clip_end) const;
  void compute(int64_t first, int64_t last, int64_t clip_end, std::vector<float>& out) const;

  MelOptions options_;
  int64_t n_samples_ = 0;
  int64_t n_final_ = 0;
  std::vector<float> samples_;  // the last ones, from first_sample_ on: what frames that are not final need
  int64_t first_sample_ = 0;
  std::vector<float> frames_;  // [kMelBands, n_final_ - first_frame_]
  int64_t first_frame_ = 0;
  float largest_ = -std::numeric_limits<float>::infinity();
};

// Raw frames to what the encoder takes, in place: nothing lies more than 8 below the clip's largest value,
// then (x + 4) / 4.
void normalise_mel(std::span<float> raw, float largest);

}  // namespace parlance
