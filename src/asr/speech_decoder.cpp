#include "asr/speech_decoder.h"

#include <algorithm>

#include "asr/transcript.h"

namespace parlance {

namespace {

// Tokens of a draft that are verified in a step of their own: few enough that every device gives each of them
// the numbers that it gives to one token alone.
constexpr size_t kAlikeTokens = 16;

}  // namespace

int64_t SpeechDecoder::base() const {
  auto n = static_cast<int64_t>(prompt_.head.size());
  for (const KnownWindow& window : known_) n += window.n_tokens;
  return n;
}

void SpeechDecoder::clear() {
  known_.clear();
  answer_.clear();
}

// Brings the session to where the closed windows end: each is a batch of its own, whatever came before.
Result<void> SpeechDecoder::take_closed(const AudioRows& audio, const Work& work) {
  const auto windows = audio.windows();
  size_t n_same = 0;
  while (n_same < known_.size() && n_same < windows.size() && windows[n_same].id == known_[n_same].id)
    ++n_same;
  known_.resize(n_same);
  if (session_->tokens().size() < prompt_.head.size())
    PARLANCE_CHECK(session_->set_prompt(prompt_.head, work));
  session_->truncate(base());
  for (size_t i = n_same; i < windows.size() && windows[i].is_closed; ++i) {
    const std::vector<Token> tokens(static_cast<size_t>(audio.n_tokens(windows[i])), kEmbedded);
    PARLANCE_CHECK(session_->append_for_likeliest(tokens, 1, {.rows = windows[i].rows, .first = 0}, work));
    known_.push_back({windows[i].id, std::ssize(tokens)});
  }
  return {};
}

// The windows that are open, the prompt's tail and a draft in one step. Yields what the tail and
// each token of the draft are most likely followed by.
Result<std::span<const Token>> SpeechDecoder::append_open(const AudioRows& audio,
                                                          std::span<const Token> draft, bool is_final,
                                                          const Work& work) {
  std::vector<float> rows;
  for (const AudioWindow& window : audio.windows().subspan(known_.size()))
    rows.insert(rows.end(), window.rows.begin(), window.rows.end());
  const int64_t n_embd = session_->model().hyper_parameters().n_embd;
  std::vector<Token> tokens(rows.size() / static_cast<size_t>(n_embd), kEmbedded);
  tokens.insert(tokens.end(), prompt_.tail.begin(), prompt_.tail.end());
  if (is_final) return session_->append_with_draft(tokens, draft, {.rows = rows, .first = 0}, work);
  tokens.insert(tokens.end(), draft.begin(), draft.end());
  return session_->append_for_likeliest(tokens, std::ssize(draft) + 1, {.rows = rows, .first = 0}, work);
}

Result<std::span<const Token>> SpeechDecoder::append(std::span<const Token> tokens, int64_t n_outputs,
                                                     const Work& work) {
  return session_->append_for_likeliest(tokens, n_outputs, {}, work);
}

// Feeds the draft as long as it is right, then one token after the other.
Result<DecodeResult> SpeechDecoder::decode(const AudioRows& audio, const DecodeLimits& limits, bool is_final,
                                           const Work& work) {
  PARLANCE_CHECK(take_closed(audio, work));
  const std::vector<Token> before = answer_;
  std::span<const Token> draft = before;
  const Tokenizer& tokenizer = session_->model().tokenizer();
  const auto piece_of = [&](size_t first, size_t most) {
    return draft.subspan(first, std::min(draft.size() - first, most));
  };
  std::vector<Token> answer;
  int64_t n_new = 0;

  const size_t most_beside = is_final ? static_cast<size_t>(session_->most_beside_prompt()) : kDraftTokens;
  const std::span<const Token> beside = piece_of(0, most_beside);
  size_t n_fed = beside.size();  // tokens behind the prompt that the session has
  size_t first_row = 0;          // tokens before which the first of the likeliest stands
  PARLANCE_TRY(std::span<const Token> likeliest, append_open(audio, beside, is_final, work));
  const int64_t n_prompt = std::ssize(session_->tokens()) - static_cast<int64_t>(n_fed);
  DecodeResult result;
  while (std::ssize(answer) < limits.max_tokens) {
    Token next = likeliest[answer.size() - first_row];
    if (limits.script) {
      const bool has_more = answer.size() < limits.script->size();
      next = has_more ? (*limits.script)[answer.size()] : tokenizer.end_of_generation().front();
    }
    result.is_complete = tokenizer.is_end_of_generation(next);
    if (result.is_complete) break;
    answer.push_back(next);
    if (limits.on_answer) limits.on_answer(answer);
    const size_t n = answer.size();
    if (n <= draft.size() && next == draft[n - 1]) {
      if (n <= n_fed) continue;
      const std::span<const Token> piece = piece_of(n - 1, is_final ? kAlikeTokens : kDraftTokens);
      PARLANCE_TRY(likeliest, append(piece, std::ssize(piece), work));
      n_fed = n - 1 + piece.size();
    } else {
      if (++n_new > limits.max_new_tokens || (limits.stops_circles && is_degenerate_tail(answer))) break;
      draft = {};
      session_->truncate(n_prompt + static_cast<int64_t>(n) - 1);
      PARLANCE_TRY(likeliest, append({&next, 1}, 1, work));
      n_fed = n;
    }
    first_row = n;
  }
  answer_ = std::move(answer);
  return result;
}

}  // namespace parlance
