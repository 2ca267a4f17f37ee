#include "measure/listen_live.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <thread>

#include "measure/listen_batch.h"
#include "measure/stopwatch.h"
#include "measure/text_steps.h"

namespace parlance {

namespace {

constexpr size_t kPiece = kMelSampleRateHz / 10;
constexpr std::chrono::milliseconds kPieceTime{100};
constexpr std::chrono::milliseconds kAskEvery{20};
constexpr double kUpdateSeconds = 0.3;
constexpr std::array<double, 5> kUpdateAt = {1, 4, 8, 20, 30};

AsrRequest request() {
  return {.context = {}, .language = std::string(kBenchLanguage)};
}

// Feeds the samples at the pace of speech: a piece comes when it has been spoken. Yields when the last came.
Result<Clock::time_point> speak(AsrStream& stream, std::span<const float> samples, LiveStream& live) {
  const Clock::time_point start = Clock::now();
  Clock::time_point next = start + kPieceTime;
  Clock::time_point now = start;
  for (size_t at = 0; at < samples.size(); at += kPiece, next += kPieceTime) {
    while (next - Clock::now() > kAskEvery) {
      std::this_thread::sleep_for(kAskEvery);
      now = Clock::now();
      const AsrPartial partial = stream.partial();
      live.longest_partial_us = std::max(live.longest_partial_us, seconds_since(now) * 1e6);
      if (live.first_partial_s == 0 && !partial.transcript.text.empty())
        live.first_partial_s = seconds_since(start);
    }
    std::this_thread::sleep_until(next);
    now = Clock::now();
    PARLANCE_CHECK(stream.feed(samples.subspan(at, std::min(kPiece, samples.size() - at))));
    live.longest_feed_us = std::max(live.longest_feed_us, seconds_since(now) * 1e6);
  }
  live.n_updates = stream.partial().revision;
  return Clock::now();
}

}  // namespace

Result<LiveStream> run_live_stream(Recognizer& recognizer, std::span<const float> samples) {
  LiveStream live;
  PARLANCE_TRY(const auto stream, recognizer.open(request()));
  const std::clock_t before = std::clock();
  PARLANCE_TRY(const Clock::time_point end, speak(*stream, samples, live));
  PARLANCE_CHECK(stream->finish());
  live.final_s = seconds_since(end);
  live.processor_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  return live;
}

Result<double> pause_to_final_s(Recognizer& recognizer, std::span<const float> samples, int n_repetitions) {
  std::vector<double> seconds;
  for (int i = 0; i < n_repetitions; ++i) {
    LiveStream live;
    PARLANCE_TRY(const auto stream, recognizer.open(request()));
    PARLANCE_TRY(const Clock::time_point end, speak(*stream, samples, live));
    stream->pause();
    while (!stream->partial().is_final) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    seconds.push_back(seconds_since(end));
  }
  return median(seconds);
}

Result<std::vector<LiveUpdate>> run_live_updates(const AsrModel& model, std::span<const float> samples,
                                                 int n_repetitions) {
  const AsrMode mode = kReferenceAsr;
  PARLANCE_TRY(const auto encoder, SpeechEncoder::create(model.encoder(), model.device(), mode));
  PARLANCE_TRY(AsrPrompt prompt, make_asr_prompt(model.text().tokenizer(), "", kBenchLanguage));
  PARLANCE_TRY(auto session, make_speech_session(model, mode, kUpdateAt.back()));
  Utterance utterance(*encoder, std::move(session), std::move(prompt),
                      {.mode = mode, .script = scripted_answer});
  std::vector<LiveUpdate> updates;
  for (const double at : kUpdateAt) {
    const auto n = static_cast<size_t>(at * kMelSampleRateHz);
    const auto n_new = static_cast<size_t>(kUpdateSeconds * kMelSampleRateHz);
    if (n > samples.size()) break;
    std::vector<double> seconds;
    for (int i = 0; i < n_repetitions; ++i) {
      utterance.restart();
      utterance.push(samples.first(n - n_new));
      // A preview adds so many tokens to the one before at most.
      const size_t n_answer = scripted_answer(at - kUpdateSeconds).size();
      do {
        PARLANCE_CHECK(utterance.preview());
      } while (utterance.hypothesis().tokens.size() < n_answer);
      utterance.push(samples.subspan(n - n_new, n_new));
      const Clock::time_point start = Clock::now();
      PARLANCE_CHECK(utterance.preview());
      seconds.push_back(seconds_since(start));
    }
    updates.push_back({at, median(seconds)});
  }
  return updates;
}

}  // namespace parlance
