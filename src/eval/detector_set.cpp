#include "eval/detector_set.h"

#include <cmath>

#include "audio/audio_file.h"
#include "json/json.h"
#include "json/json_lines.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

Result<SpokenSpan> parse_span(const Json& json) {
  const auto ends = json.elements();
  const auto first = ends && ends->size() == 2 ? (*ends)[0].number() : std::nullopt;
  const auto end = ends && ends->size() == 2 ? (*ends)[1].number() : std::nullopt;
  constexpr double kMostSeconds = 1e6;
  if (!first || !end || !(*first >= 0) || !(*end > *first) || !(*end < kMostSeconds)) {
    return fail(ErrorCode::corrupt_file, "\"speech\" must be an array of [start, end] in seconds");
  }
  const auto sample = [](double seconds) { return std::llround(seconds * kSileroSampleRateHz); };
  return SpokenSpan{sample(*first), sample(*end)};
}

Result<LabelledRecording> parse_label(std::string_view line) {
  PARLANCE_TRY(const Json object, Json::parse(line));
  LabelledRecording recording;
  const auto audio = object.member("audio");
  const auto name = audio ? audio->text() : std::nullopt;
  if (!name || name->empty()) return fail(ErrorCode::corrupt_file, "\"audio\" must be there and name a file");
  recording.audio = *name;
  const auto speech = object.member("speech");
  const auto spans = speech ? speech->elements() : std::nullopt;
  if (!spans) return fail(ErrorCode::corrupt_file, "\"speech\" must be an array of [start, end] in seconds");
  for (const Json& span : *spans) {
    PARLANCE_TRY(recording.speech.emplace_back(), parse_span(span));
    const size_t n = recording.speech.size();
    if (n > 1 && recording.speech[n - 1].first < recording.speech[n - 2].end) {
      return fail(ErrorCode::corrupt_file, "spans of \"speech\" overlap or are out of order");
    }
  }
  if (const auto snr = object.member("snr_db")) recording.snr_db = snr->number();
  return recording;
}

}  // namespace

Result<std::vector<LabelledRecording>> read_labels(const fs::path& folder) {
  return read_json_lines(folder / "labels.jsonl", kMostSetBytes, "recordings", parse_label);
}

Result<JudgedRecording> judge(const fs::path& folder, const LabelledRecording& labelled,
                              const std::shared_ptr<const SileroModel>& model) {
  PARLANCE_TRY(AudioClip clip, read_audio(folder / labelled.audio, kSileroSampleRateHz));
  const size_t n_windows = (clip.samples.size() + kSileroWindow - 1) / kSileroWindow;
  clip.samples.resize(n_windows * kSileroWindow);
  JudgedRecording judged{.probabilities = {}, .speech = labelled.speech};
  SileroVad vad(model);
  for (size_t w = 0; w < n_windows; ++w) {
    const std::span<const float> samples = std::span(clip.samples).subspan(w * kSileroWindow);
    judged.probabilities.push_back(vad.process(samples.first<kSileroWindow>()));
  }
  return judged;
}

DetectorScores scores_of(std::span<const JudgedRecording> recordings, double threshold) {
  return {recordings.size(), roc_auc(recordings), scores_at(recordings, static_cast<float>(threshold))};
}

}  // namespace parlance
