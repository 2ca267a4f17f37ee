#include "cli/echo_free_source.h"

#include <algorithm>
#include <array>
#include <utility>

#include "audio/mel.h"
#include "audio/resampler.h"
#include "echo/remover.h"

namespace parlance {

namespace {

static_assert(kEchoRateHz == kMelSampleRateHz);

// Both devices give their sound in pieces of some milliseconds: so much of what was played is kept in
// reserve, and from so much more on it has fallen behind what is heard.
constexpr size_t kReserve = 2 * kEchoFrame, kMostReserve = 8 * kEchoFrame;
constexpr int kPatienceFrames = 500;          // for which it was behind all the time
constexpr size_t kMostWaiting = kEchoRateHz;  // samples beyond those that were heard

// What was played, frame by frame beside what is heard.
class PlayedFrames {
 public:
  static Result<PlayedFrames> create(PlayedSound played) {
    PARLANCE_TRY(Resampler to_rate, Resampler::create(played.sample_rate_hz, kEchoRateHz));
    return PlayedFrames(std::move(played), std::move(to_rate));
  }

  // Takes what was played by now. Only the last of it is of interest, beside so many samples that were heard:
  // at first, and where a device plays faster than time passes, which is not waited for either.
  Result<void> update(size_t n_heard) {
    std::array<float, 4096> piece;
    for (int64_t n_left = played_.sample_rate_hz; n_left > 0;) {
      const size_t n = played_.take(piece);
      if (n == 0) break;
      PARLANCE_CHECK(to_rate_.push(std::span(piece).first(n), waiting_));
      n_left -= static_cast<int64_t>(n);
    }
    const size_t n_kept = n_heard + kReserve, n_most = n_heard + (has_begun_ ? kMostWaiting : kReserve);
    has_begun_ = true;
    if (waiting_.size() > n_most) {
      waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(n_kept));
      n_missing_ = 0;
      was_cut_ = true;
    }
    return {};
  }

  // The next frame; silence in place of what the device has not told yet, which is amended when it does.
  void next(std::span<float> frame, EchoRemover& remover) {
    if (std::exchange(was_cut_, false)) remover.restart();
    const size_t late = std::min(n_missing_, waiting_.size());
    remover.amend(std::span(waiting_).first(late), n_missing_);
    const size_t n = std::min(frame.size(), waiting_.size() - late);
    std::copy_n(waiting_.begin() + static_cast<std::ptrdiff_t>(late), n, frame.begin());
    std::fill(frame.begin() + static_cast<std::ptrdiff_t>(n), frame.end(), 0.0f);
    n_missing_ += frame.size() - n - late;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(late + n));
    follow();
  }

 private:
  PlayedFrames(PlayedSound played, Resampler to_rate)
      : played_(std::move(played)), to_rate_(std::move(to_rate)) {}

  // Clocks differ: what is kept in reserve grows, and is cut back when it has been too much for a while.
  void follow() {
    n_behind_ = waiting_.size() > kMostReserve ? n_behind_ + 1 : 0;
    if (n_behind_ < kPatienceFrames) return;
    waiting_.erase(waiting_.begin(), waiting_.end() - kReserve);
    n_behind_ = 0;
    was_cut_ = true;
  }

  PlayedSound played_;
  Resampler to_rate_;
  std::vector<float> waiting_;
  size_t n_missing_ = 0;
  int n_behind_ = 0;
  bool has_begun_ = false;
  bool was_cut_ = false;  // something was left out that is not told to the remover yet
};

class EchoFreeSource final : public SoundSource {
 public:
  EchoFreeSource(std::unique_ptr<SoundSource> microphone, PlayedFrames played)
      : microphone_(std::move(microphone)), played_(std::move(played)) {}

  Result<bool> read(std::vector<float>& out) override {
    PARLANCE_TRY(const bool goes_on, microphone_->read(heard_));
    PARLANCE_CHECK(played_.update(heard_.size()));
    size_t at = 0;
    gate_ = remover_.gate();
    for (; at + kEchoFrame <= heard_.size(); at += kEchoFrame) {
      std::array<float, kEchoFrame> played, left;
      played_.next(played, remover_);
      remover_.process(std::span(heard_).subspan(at, kEchoFrame), played, left);
      gate_ = std::max(gate_, remover_.gate());
      out.insert(out.end(), left.begin(), left.end());
    }
    if (at == kEchoFrame) gate_ = remover_.gate();
    heard_.erase(heard_.begin(), heard_.begin() + static_cast<std::ptrdiff_t>(at));
    if (!goes_on) out.insert(out.end(), heard_.begin(), heard_.end());
    return goes_on;
  }
  bool is_patient() const override { return microphone_->is_patient(); }
  int64_t n_lost() const override { return microphone_->n_lost(); }
  double voice_rms() const override { return static_cast<double>(gate_); }

 private:
  std::unique_ptr<SoundSource> microphone_;
  PlayedFrames played_;
  EchoRemover remover_;
  std::vector<float> heard_;  // less than a frame, between calls
  float gate_ = 0;
};

}  // namespace

Result<std::unique_ptr<SoundSource>> without_echo(std::unique_ptr<SoundSource> microphone,
                                                  PlayedSound played) {
  PARLANCE_TRY(PlayedFrames frames, PlayedFrames::create(std::move(played)));
  return std::make_unique<EchoFreeSource>(std::move(microphone), std::move(frames));
}

}  // namespace parlance
