#include "assistant/talk_source.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "audio/mel.h"

namespace parlance {

namespace {

constexpr size_t kPieceSamples = kMelSampleRateHz / 100;  // 10 ms
constexpr double kSamplesPerMs = kMelSampleRateHz / 1000.0;
constexpr double kRememberedMs = 10000;  // for asking when a sample was heard

}  // namespace

TalkSource::TalkSource(std::vector<std::unique_ptr<SoundSource>> sources, const SourceManner& manner,
                       std::shared_ptr<const SileroModel> detector, const TurnOptions& turns, Inbox& inbox,
                       TalkClock clock)
    : sources_(std::move(sources)),
      manner_(manner),
      gate_rms_(turns.gate_rms),
      detector_(std::move(detector), turns),
      inbox_(inbox),
      clock_(std::move(clock)) {
  thread_ = std::thread([this] { run(); });
}

TalkSource::~TalkSource() {
  is_over_ = true;
  inbox_.close();
  thread_.join();
}

void TalkSource::run() {
  paced_from_ = clock_();
  for (const auto& source : sources_) {
    if (const auto heard = hear(*source); !heard) {
      inbox_.post(Broken{heard.error()});
      return;
    }
    n_lost_ += source->n_lost();
    if (is_over_) return;
  }
  inbox_.post(SourceOver{});
}

Result<void> TalkSource::hear(SoundSource& source) {
  is_patient_ = source.is_patient();
  std::vector<float> samples;
  for (bool goes_on = true; goes_on && !is_over_;) {
    samples.clear();
    PARLANCE_TRY(goes_on, source.read(samples));
    const double voice = source.voice_rms();
    detector_.set_gate(voice > 0 ? voice : gate_rms_);
    if (!std::exchange(awaits_answer_, awaits_answer_ && !inbox_.is_settled())) {
      take(samples);
    } else if (!awaits_answer_) {
      forget();
    }
  }
  fall_silent();
  return {};
}

// Silence behind a recording ends its last turn as it would end somebody's who sits there.
void TalkSource::fall_silent() {
  if (!is_patient_ || !manner_.ends_silent) {
    detector_.flush([&](const TurnEvent& event) { on_event(event); },
                    [&](std::span<const float> samples, int64_t) { on_audio(samples); });
    forget();
    return;
  }
  const std::vector<float> silence(kPieceSamples);
  do {
    take(silence);
  } while (detector_.phase() != TurnPhase::idle && !is_over_);
}

void TalkSource::expect_end(int64_t speech_end, double silence_ms) {
  const std::lock_guard lock(expected_mutex_);
  expected_ = {speech_end, silence_ms};
}

// The detector begins anew.
void TalkSource::forget() {
  detector_.reset();
  const std::lock_guard lock(expected_mutex_);
  expected_.reset();
  n_heard_ = 0;
  pieces_.clear();
}

void TalkSource::take(std::span<const float> samples) {
  while (!samples.empty() && !is_over_) {
    const auto piece = samples.first(std::min(samples.size(), kPieceSamples));
    take_piece(piece);
    samples = samples.subspan(piece.size());
  }
}

void TalkSource::take_piece(std::span<const float> samples) {
  n_heard_ += std::ssize(samples);
  if (manner_.is_paced) {
    const double due_ms = paced_from_ + static_cast<double>(n_heard_) / kSamplesPerMs;
    const double wait_ms = due_ms - clock_();
    if (wait_ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(wait_ms));
  }
  const double now_ms = clock_();
  pieces_.push_back({n_heard_, now_ms});
  while (pieces_.front().at_ms < now_ms - kRememberedMs) pieces_.pop_front();

  {
    const std::lock_guard lock(expected_mutex_);
    if (const auto expected = std::exchange(expected_, std::nullopt)) {
      detector_.expect_end(expected->speech_end, expected->silence_ms);
    }
  }
  detector_.feed(
      samples, [&](const TurnEvent& event) { on_event(event); },
      [&](std::span<const float> speech, int64_t) { on_audio(speech); });
  if (!std::exchange(has_turn_ended_, false) || !manner_.is_polite) return;
  if (!is_patient_) {
    awaits_answer_ = true;
    return;
  }
  const double before_ms = clock_();
  inbox_.wait_until_settled();
  paced_from_ += clock_() - before_ms;  // meanwhile nobody spoke
}

double TalkSource::heard_at_ms(int64_t sample) const {
  const auto piece =
      std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.end >= sample; });
  return piece == pieces_.end() ? clock_() : piece->at_ms;
}

void TalkSource::on_event(const TurnEvent& event) {
  inbox_.post(HeardTurn{event, clock_(), heard_at_ms(event.speech_start), heard_at_ms(event.speech_end),
                        detector_.final_level()});
  using Kind = TurnEvent::Kind;
  has_turn_ended_ = has_turn_ended_ || event.kind == Kind::speech_end || event.kind == Kind::blip;
}

void TalkSource::on_audio(std::span<const float> samples) {
  if (is_patient_) inbox_.wait_for_room();
  inbox_.post(HeardSound{{samples.begin(), samples.end()}});
}

}  // namespace parlance
