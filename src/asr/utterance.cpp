#include "asr/utterance.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

namespace {

// Tokens further from the end of a preview than this seldom change.
constexpr size_t kUnsettledTokens = 5;
// What a preview may write beyond the one before.
constexpr int64_t kPreviewTokens = 32;

}  // namespace

Utterance::Utterance(SpeechEncoder& encoder, std::unique_ptr<Session> session, AsrPrompt prompt,
                     const UtteranceOptions& options)
    : options_(options),
      encoder_(encoder),
      rows_(encoder, options.mode),
      decoder_(std::move(session), std::move(prompt)) {}

void Utterance::push(std::span<const float> samples) {
  if (samples.empty()) return;
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  rows_.push(samples);
  is_final_ = false;
}

void Utterance::restart() {
  samples_.clear();
  rows_ = AudioRows(encoder_, options_.mode);
  decoder_.clear();
  before_.clear();
  stable_.clear();
  hypothesis_ = {};
  is_final_ = false;
}

void Utterance::on_progress(std::function<void(double seconds)> listener) {
  rows_.on_window([listener = std::move(listener)](int64_t n_frames) {
    listener(static_cast<double>(n_frames * kMelHop) / kMelSampleRateHz);
  });
}

int64_t Utterance::max_tokens() const {
  if (options_.max_tokens > 0) return options_.max_tokens;
  const int64_t seconds = div_up<int64_t>(std::ssize(samples_), kMelSampleRateHz);
  return std::min<int64_t>(kMaxAnswerTokens,
                           std::max<int64_t>(192, kAnswerTokensBeside + kAnswerTokensPerSecond * seconds));
}

Result<void> Utterance::preview(const Work& work) {
  PARLANCE_CHECK(update(RowsKind::preview, work));
  read_preview();
  return {};
}

Result<void> Utterance::finish(const Work& work) {
  if (is_final_) return {};
  if (samples_.empty()) {
    hypothesis_ = {.raw = {}, .transcript = {}, .stable = {}, .tokens = {}, .is_complete = true};
    is_final_ = true;
    return {};
  }
  PARLANCE_CHECK(update(RowsKind::exact, work));
  hypothesis_.transcript = read(hypothesis_.raw, false);
  hypothesis_.stable = hypothesis_.transcript.text;
  is_final_ = true;
  return {};
}

Result<void> Utterance::update(RowsKind kind, const Work& work) {
  PARLANCE_CHECK(rows_.refresh(kind, work));
  DecodeLimits limits{.max_tokens = max_tokens(), .max_new_tokens = kPreviewTokens, .stops_circles = true};
  const bool is_final = kind == RowsKind::exact;
  if (is_final) limits = {.max_tokens = max_tokens(), .max_new_tokens = max_tokens(), .stops_circles = false};
  if (is_final && on_text_) {
    limits.on_answer = [this](std::span<const Token> answer) {
      if (!is_degenerate_tail(answer)) on_text_(read(raw_text(answer), /*is_preview=*/true).text);
    };
  }
  std::vector<Token> script;
  if (options_.script) {
    script = options_.script(static_cast<double>(samples_.size()) / kMelSampleRateHz);
    limits.script = &script;
  }
  PARLANCE_TRY(const DecodeResult result, decoder_.decode(rows_, limits, is_final, work));
  hypothesis_.tokens = decoder_.answer();
  hypothesis_.raw = raw_text(hypothesis_.tokens);
  hypothesis_.is_complete = result.is_complete;
  return {};
}

// Bytes of the tokens as far as they make whole code points; special tokens are left out.
std::string Utterance::raw_text(std::span<const Token> tokens) const {
  const Tokenizer& tokenizer = decoder_.session().model().tokenizer();
  StreamingDecoder decoder;
  std::string text;
  for (const Token token : tokens) text += decoder.push(tokenizer.piece(token));
  return text;
}

// While the model still writes the name of the language there is no text.
Transcript Utterance::read(std::string_view raw, bool is_preview) const {
  const std::string& forced = decoder_.prompt().language;
  const bool names_language = raw.starts_with(kLanguagePrefix) || kLanguagePrefix.starts_with(raw);
  if (is_preview && forced.empty() && names_language && raw.find(kAsrTextTag) == std::string_view::npos)
    return {};
  return parse_transcript(raw, forced);
}

// Tokens are stable when two previews in a row agree on them (LocalAgreement-2; Liu et al., 2020), or when
// they are far from the end.
void Utterance::agree(const std::vector<Token>& answer) {
  const size_t n_same = static_cast<size_t>(
      std::mismatch(before_.begin(), before_.end(), answer.begin(), answer.end()).second - answer.begin());
  const size_t n = std::max(n_same, answer.size() - std::min(answer.size(), kUnsettledTokens));
  if (n > stable_.size()) stable_.assign(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(n));
}

// What was stable stays: a preview that contradicts it shows nothing more until the next one.
void Utterance::read_preview() {
  const std::vector<Token>& answer = decoder_.answer();
  const bool is_consistent =
      answer.size() >= stable_.size() && std::equal(stable_.begin(), stable_.end(), answer.begin());
  if (is_consistent) agree(answer);
  before_ = answer;
  const Transcript stable = read(raw_text(stable_), true);
  hypothesis_.transcript = is_consistent ? read(hypothesis_.raw, true) : stable;
  const std::string& text = hypothesis_.transcript.text;
  const auto n_common = std::mismatch(stable.text.begin(), stable.text.end(), text.begin(), text.end()).first;
  hypothesis_.stable.assign(stable.text.begin(), n_common);
}

AsrTokens Utterance::n_tokens() const {
  AsrTokens n;
  for (const AudioWindow& window : rows_.windows()) n.sound += rows_.n_tokens(window);
  n.prompt = std::ssize(decoder_.prompt().head) + std::ssize(decoder_.prompt().tail);
  n.answer = std::ssize(hypothesis_.tokens) + (hypothesis_.is_complete ? 1 : 0);
  return n;
}

}  // namespace parlance
