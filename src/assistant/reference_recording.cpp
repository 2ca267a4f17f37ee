#include "assistant/reference_recording.h"

#include <algorithm>

#include "text/unicode.h"
#include "tts/synthesizer.h"

namespace parlance {

namespace {

constexpr int64_t kQuietWindow = speech_samples(60), kQuietStep = speech_samples(5);
constexpr double kEarliestCut = 0.75;   // of the length that is wanted
constexpr double kWorthCutting = 1.1;   // a recording that is a little too long stays whole
constexpr double kMostMisheard = 0.34;  // of the words, in a text that is taken to be the one given

struct Word {
  std::string letters;  // in lower case, without marks
  size_t end;           // in the text, with the marks behind it
};

std::vector<Word> words_of_text(std::string_view text) {
  std::vector<Word> words;
  std::string letters;
  size_t at = 0;
  const auto end_word = [&](size_t end) {
    if (!letters.empty()) words.push_back({std::move(letters), end});
    letters.clear();
  };
  while (at < text.size()) {
    const size_t before = at;
    const char32_t c = next_code_point(text, at);
    if (is_white_space(c)) {
      end_word(before);
    } else if (is_letter(c) || is_digit(c)) {
      append_utf8(letters, c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
  }
  end_word(text.size());
  return words;
}

double seconds_of_speech(std::span<const float> samples) {
  return static_cast<double>(samples.size()) / kSpeechRateHz;
}

// Cuts the recording and its text if that can be done.
Result<void> cut(ReferenceRecording& recording, const ReferenceWish& wish, const HearReference& hear,
                 const OnRemark& on_remark, const Cancellation& cancellation) {
  const double seconds = seconds_of_speech(recording.samples);
  if (wish.most_seconds <= 0 || seconds < kWorthCutting * wish.most_seconds || !hear) return {};
  const double most = std::max(wish.most_seconds, kLeastReferenceSeconds);
  const int64_t end =
      quietest_place(recording.samples, static_cast<int64_t>(kEarliestCut * most * kSpeechRateHz),
                     static_cast<int64_t>(most * kSpeechRateHz));
  const auto beginning = std::span(recording.samples).first(static_cast<size_t>(end));
  PARLANCE_TRY(std::string heard, hear(beginning, cancellation));
  if (words_of_text(heard).empty()) {
    remark(on_remark, fmt::format("{}: no words are heard in its first {:.1f} seconds; all {:.1f} are used",
                                  wish.name, seconds_of_speech(beginning), seconds));
    return {};
  }
  if (recording.text.empty()) {
    recording.is_heard = true;
  } else if (auto text = beginning_heard(recording.text, heard)) {
    heard = *std::move(text);
  } else {
    remark(on_remark,
           fmt::format("{}: \"{}\" is heard in its first {:.1f} seconds, which is not how the text "
                       "given begins; all {:.1f} are used",
                       wish.name, heard, seconds_of_speech(beginning), seconds));
    return {};
  }
  recording.text = std::move(heard);
  recording.samples.resize(static_cast<size_t>(end));
  return {};
}

}  // namespace

int64_t quietest_place(std::span<const float> samples, int64_t first, int64_t last) {
  last = std::min(last, std::ssize(samples));
  int64_t best = last;
  double least = -1;
  for (int64_t start = first; start + kQuietWindow <= last; start += kQuietStep) {
    double sum = 0;
    for (const float x : samples.subspan(static_cast<size_t>(start), static_cast<size_t>(kQuietWindow)))
      sum += static_cast<double>(x) * static_cast<double>(x);
    if (least >= 0 && sum >= least) continue;
    least = sum;
    best = start + kQuietWindow / 2;
  }
  return best;
}

std::optional<std::string> beginning_heard(std::string_view text, std::string_view heard) {
  const std::vector<Word> given = words_of_text(text), words = words_of_text(heard);
  if (words.empty() || given.empty()) return std::nullopt;
  // Levenshtein distances of all that was heard to every beginning of the text.
  std::vector<size_t> distances(given.size() + 1);
  for (size_t i = 0; i < distances.size(); ++i) distances[i] = i;
  for (const Word& word : words) {
    size_t diagonal = distances[0]++;
    for (size_t i = 1; i < distances.size(); ++i) {
      const size_t replaced = diagonal + (given[i - 1].letters == word.letters ? 0 : 1);
      diagonal = distances[i];
      distances[i] = std::min({replaced, distances[i] + 1, distances[i - 1] + 1});
    }
  }
  const auto best = std::ranges::min_element(distances) - distances.begin();
  if (best == 0 || static_cast<double>(distances[static_cast<size_t>(best)]) >
                       kMostMisheard * static_cast<double>(words.size()))
    return std::nullopt;
  return std::string(text.substr(0, given[static_cast<size_t>(best) - 1].end));
}

Result<ReferenceRecording> prepare_recording(std::span<const float> samples, const ReferenceWish& wish,
                                             const HearReference& hear, const OnRemark& on_remark,
                                             const Cancellation& cancellation) {
  const double seconds = seconds_of_speech(samples);
  if (seconds < kLeastReferenceSeconds) {
    return fail(ErrorCode::invalid_argument,
                "{}: {:.2f} seconds are too short to know a voice by; give 3 to 10 seconds of speech",
                wish.name, seconds);
  }
  ReferenceRecording recording{
      .samples = {samples.begin(), samples.end()}, .text = std::string(wish.text), .is_heard = false};
  PARLANCE_CHECK(cut(recording, wish, hear, on_remark, cancellation));
  if (recording.text.empty() && hear) {
    PARLANCE_TRY(recording.text, hear(recording.samples, cancellation));
    recording.is_heard = !recording.text.empty();
  }
  const double used = seconds_of_speech(recording.samples);
  const bool is_refused = used > Synthesizer::kMostReferenceSeconds;  // by who encodes it, which says so
  if (!is_refused && (used < kGoodReferenceSeconds[0] || used > kGoodReferenceSeconds[1])) {
    remark(on_remark,
           fmt::format("{}: {:.1f} seconds of speech; 3 to 10 give a better voice", wish.name, used));
  }
  if (recording.is_heard) {
    remark(on_remark,
           fmt::format("{}: heard \"{}\"; give its words if that is wrong", wish.name, recording.text));
  } else if (recording.text.empty()) {
    remark(on_remark,
           fmt::format("{}: nobody says what is said in it, which costs likeness and words", wish.name));
  }
  return recording;
}

}  // namespace parlance
