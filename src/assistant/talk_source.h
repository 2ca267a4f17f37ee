// What a conversation by voice hears: a thread that reads sound as it comes, or recordings as if they were
// spoken now, and finds speech in it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "assistant/sound_source.h"
#include "vad/speech_detector.h"
#include "voice/inbox.h"

namespace parlance {

struct SourceManner {
  bool is_paced = true;     // sound is heard at the rate at which it was recorded
  bool is_polite = true;    // nothing is heard while an answer is being made or played
  bool ends_silent = true;  // silence follows, until nobody can be speaking
};

class TalkSource final : public Attention {
 public:
  // The sources are heard one after the other. What it uses must outlive it.
  TalkSource(std::vector<std::unique_ptr<SoundSource>> sources, const SourceManner& manner,
             std::shared_ptr<const SileroModel> detector, const TurnOptions& turns, Inbox& inbox,
             TalkClock clock);
  ~TalkSource() override;

  // From any thread.
  void expect_end(int64_t speech_end, double silence_ms) override;

  int64_t n_lost() const { return n_lost_; }

 private:
  void run();
  Result<void> hear(SoundSource& source);
  void take(std::span<const float> samples);
  void take_piece(std::span<const float> samples);
  void on_event(const TurnEvent& event);
  void on_audio(std::span<const float> samples);
  void fall_silent();
  void forget();
  double heard_at_ms(int64_t sample) const;

  std::vector<std::unique_ptr<SoundSource>> sources_;
  const SourceManner manner_;
  const double gate_rms_;  // where a source knows none
  SpeechDetector detector_;
  Inbox& inbox_;
  const TalkClock clock_;

  int64_t n_heard_ = 0;    // samples
  double paced_from_ = 0;  // ms at which the first of them would have been heard without a break
  struct Piece {
    int64_t end;  // the sample behind it
    double at_ms;
  };
  std::deque<Piece> pieces_;     // the last ones
  bool is_patient_ = true;       // the source at work, which can be kept waiting
  bool has_turn_ended_ = false;  // in the piece at work
  bool awaits_answer_ = false;   // what an impatient source gives meanwhile is not heard
  struct ExpectedEnd {
    int64_t speech_end;
    double silence_ms;
  };
  std::mutex expected_mutex_;
  std::optional<ExpectedEnd> expected_;  // of which the detector does not know yet
  std::atomic<int64_t> n_lost_{0};       // times that sound was lost
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace parlance
