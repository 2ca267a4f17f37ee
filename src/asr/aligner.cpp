#include "asr/aligner.h"

#include <algorithm>

#include "asr/alignment_words.h"
#include "asr/audio_rows.h"
#include "asr/timestamp_repair.h"
#include "base/os/folder.h"
#include "engine/session.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kClassMs = 80;
constexpr double kMaxSeconds = 300;
constexpr std::string_view kTimestamp = "<timestamp>";
constexpr size_t kBatchTokens = 64;
// Part of the times that must be in order before any is mended.
constexpr double kLeastAgreement = 0.8;

}  // namespace

Result<std::optional<AsrFiles>> find_aligner(const fs::path& folder) {
  const fs::path root = is_folder(folder / "asr") ? folder / "asr" : folder;
  AsrFiles files;
  for (const fs::path& path : files_below(root).value_or(std::vector<fs::path>())) {
    const std::string name = path.filename().string();
    if (path.extension() != ".gguf" || name.find("aligner") == std::string::npos) continue;
    fs::path& place = name.find("mmproj") == std::string::npos ? files.text : files.encoder;
    if (!place.empty()) {
      return fail(ErrorCode::invalid_argument, "{}: found {} and {}, expected one aligner; keep one of them",
                  root.string(), place.filename().string(), name);
    }
    place = path;
  }
  if (files.text.empty() || files.encoder.empty()) return std::nullopt;
  return files;
}

Result<std::unique_ptr<Aligner>> Aligner::load(const AsrFiles& files, Device& device) {
  PARLANCE_TRY(auto model, AsrModel::load(files, device, {.may_classify = true}));
  const auto timestamp = model->text().tokenizer().find(kTimestamp);
  if (!timestamp) {
    return fail(ErrorCode::unsupported,
                "{}: the vocabulary has no token {}; give the language model of an aligner",
                files.text.string(), kTimestamp);
  }
  return std::unique_ptr<Aligner>(new Aligner(std::move(model), *timestamp));
}

// The best class of each of the two times of each word. One pass: audio, then words with their times.
Result<std::vector<int64_t>> Aligner::classes(std::span<const float> samples,
                                              const std::vector<std::string>& words,
                                              const Cancellation& cancellation) {
  const Tokenizer& tokenizer = model_->text().tokenizer();
  PARLANCE_TRY(const auto encoder, SpeechEncoder::create(model_->encoder(), model_->device(), kReferenceAsr));
  AudioRows rows(*encoder, kReferenceAsr);
  rows.push(samples);
  const Work work{.cancellation = cancellation};
  PARLANCE_CHECK(rows.refresh(RowsKind::exact, work));

  const auto begin = tokenizer.find("<|audio_start|>"), end = tokenizer.find("<|audio_end|>");
  if (!begin || !end) {
    return fail(ErrorCode::unsupported, "{}: the vocabulary has no tokens <|audio_start|> and <|audio_end|>",
                model_->text().file().name());
  }
  std::vector<Token> text{*end};
  for (const std::string& word : words) {
    const std::vector<Token> tokens = tokenizer.encode(word);
    text.insert(text.end(), tokens.begin(), tokens.end());
    text.insert(text.end(), 2, timestamp_);
  }
  SessionOptions options;
  options.n_ctx = 1 + std::ssize(text);
  for (const AudioWindow& window : rows.windows()) options.n_ctx += rows.n_tokens(window);
  options.n_outputs = static_cast<int64_t>(kBatchTokens);
  options.takes_embeddings = true;
  PARLANCE_TRY(const auto session, Session::create(model_->text(), options));
  PARLANCE_CHECK(session->append({&*begin, 1}, 1, {}, work));
  for (const AudioWindow& window : rows.windows()) {
    const std::vector<Token> places(static_cast<size_t>(rows.n_tokens(window)), kEmbedded);
    PARLANCE_CHECK(session->append(places, 1, {.rows = window.rows, .first = 0}, work));
  }

  const auto n_classes = static_cast<size_t>(model_->text().model().n_logits());
  std::vector<int64_t> classes;
  for (size_t at = 0; at < text.size(); at += kBatchTokens) {
    const std::span<const Token> piece =
        std::span(text).subspan(at, std::min(kBatchTokens, text.size() - at));
    PARLANCE_TRY(const auto logits, session->append(piece, std::ssize(piece), {}, work));
    for (size_t i = 0; i < piece.size(); ++i) {
      if (piece[i] != timestamp_) continue;
      const auto row = logits.subspan(i * n_classes, n_classes);
      classes.push_back(std::max_element(row.begin(), row.end()) - row.begin());
    }
  }
  return classes;
}

Result<std::vector<TimedWord>> Aligner::align(std::span<const float> samples, std::string_view text,
                                              std::string_view language, Cancellation cancellation) {
  const double seconds = static_cast<double>(samples.size()) / kMelSampleRateHz;
  if (seconds > kMaxSeconds) {
    return fail(ErrorCode::invalid_argument,
                "{:.0f} seconds are too long to be aligned at once; give at most {}", seconds, kMaxSeconds);
  }
  const std::vector<std::string> words = alignment_words(text, language);
  if (words.empty() || samples.empty()) return std::vector<TimedWord>{};
  PARLANCE_TRY(std::vector<int64_t> times_ms, classes(samples, words, cancellation));
  for (int64_t& time : times_ms) time *= kClassMs;
  const std::vector<int64_t> mended = repair_timestamps(times_ms);
  int64_t n_kept = 0;
  const auto end_ms = static_cast<int64_t>(seconds * 1000) + kClassMs;
  for (size_t i = 0; i < mended.size(); ++i) n_kept += mended[i] == times_ms[i] && mended[i] <= end_ms;
  const double agreement = static_cast<double>(n_kept) / static_cast<double>(mended.size());
  if (agreement < kLeastAgreement) {
    return fail(ErrorCode::unsupported,
                "the aligner's times contradict each other ({:.0f} % are in order, {:.0f} % are needed): the "
                "text is not "
                "what was said, or the language is not one that the aligner knows",
                100 * agreement, 100 * kLeastAgreement);
  }
  std::vector<TimedWord> timed;
  for (size_t i = 0; i < words.size(); ++i) {
    timed.push_back({words[i], std::min(seconds, static_cast<double>(mended[2 * i]) / 1000),
                     std::min(seconds, static_cast<double>(mended[2 * i + 1]) / 1000)});
  }
  return timed;
}

}  // namespace parlance
