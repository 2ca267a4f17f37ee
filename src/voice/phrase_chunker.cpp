#include "voice/phrase_chunker.h"

#include <utility>

#include "text/unicode.h"
#include "tts/text/duration.h"
#include "tts/text/first_clause.h"

namespace parlance {

namespace {

// Those of the marks at which clauses end that end sentences as well.
constexpr std::u32string_view kSentenceMarks = U".!?\u2026\u3002\uFF01\uFF1F\u061F\u0964";

bool is_sentence_mark(char32_t c) {
  return kSentenceMarks.find(c) != std::u32string_view::npos;
}

// Whether a letter, a digit or the like follows: what comes later then changes nothing about the mark before.
bool is_decided(std::string_view text, size_t at) {
  return can_be_said(text.substr(at));
}

}  // namespace

// The first place where a phrase may end by what is known now.
std::optional<PhraseChunker::Cut> PhraseChunker::find_cut() {
  for (size_t at = n_looked_at_; at < text_.size();) {
    const size_t start = at;
    const char32_t c = next_code_point(text_, at);
    if (c == '\n') {
      n_looked_at_ = at;
      if (text_weight(std::string_view(text_).substr(0, start)) >= options_.least) {
        return Cut{at, PhraseEnd::sentence};
      }
      continue;
    }
    if (!is_decided(text_, at)) return std::nullopt;
    const size_t end = clause_end(text_, start, at);
    if (end != 0) {
      const float weight = text_weight(std::string_view(text_).substr(0, end));
      if (is_sentence_mark(c)) {
        if (weight >= options_.least) return Cut{end, PhraseEnd::sentence};
      } else if (next_id_ == 0 && weight >= options_.least) {
        // A comma with hardly anything behind it is not worth the pause: wait for more.
        if (text_weight(std::string_view(text_).substr(end)) < options_.least_rest) return std::nullopt;
        return Cut{end, PhraseEnd::clause};
      } else if (weight >= options_.long_clause) {
        return Cut{end, PhraseEnd::clause};
      }
    }
    n_looked_at_ = at;
  }
  return std::nullopt;
}

// None when there is nothing to be said in it.
std::optional<Phrase> PhraseChunker::take(Cut cut) {
  std::string text(strip_white_space(std::string_view(text_).substr(0, cut.n_bytes)));
  size_t n_pieces = 0;  // that end in it
  while (n_pieces < piece_ends_.size() && piece_ends_[n_pieces] <= cut.n_bytes) ++n_pieces;
  const bool is_inside =
      n_pieces < piece_ends_.size() && cut.n_bytes > (n_pieces == 0 ? 0 : piece_ends_[n_pieces - 1]);
  Phrase phrase{.id = next_id_,
                .text = std::move(text),
                .first_piece = first_piece_,
                .last_piece = first_piece_ + static_cast<int64_t>(n_pieces) - (is_inside ? 0 : 1),
                .end = cut.end};
  text_.erase(0, cut.n_bytes);
  piece_ends_.erase(piece_ends_.begin(), piece_ends_.begin() + static_cast<std::ptrdiff_t>(n_pieces));
  for (size_t& end : piece_ends_) end -= cut.n_bytes;
  first_piece_ += static_cast<int64_t>(n_pieces);
  n_looked_at_ = 0;
  if (!can_be_said(phrase.text)) return std::nullopt;
  ++next_id_;
  return phrase;
}

std::vector<Phrase> PhraseChunker::push(std::string_view piece, double now_ms) {
  std::vector<Phrase> phrases;
  if (text_.empty()) since_ms_ = now_ms;
  text_ += piece;
  piece_ends_.push_back(text_.size());
  while (const auto cut = find_cut()) {
    if (auto phrase = take(*cut)) phrases.push_back(*std::move(phrase));
    since_ms_ = now_ms;
  }
  return phrases;
}

std::optional<Phrase> PhraseChunker::flush_if_late(double now_ms) {
  if (text_.empty() || patience_ms() <= 0 || now_ms - *since_ms_ < patience_ms()) return std::nullopt;
  // Up to the last white space: the word behind it may go on.
  const std::string_view text = text_;
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    if (is_white_space(next_code_point(text, at))) end = start;
  }
  if (text_weight(text.substr(0, end)) < options_.least || !can_be_said(text.substr(0, end)))
    return std::nullopt;
  since_ms_ = now_ms;
  return take({end, PhraseEnd::time});
}

std::optional<double> PhraseChunker::wait_ms(double now_ms) const {
  if (text_.empty() || patience_ms() <= 0) return std::nullopt;
  const double left_ms = *since_ms_ + patience_ms() - now_ms;
  if (left_ms <= 0) return std::nullopt;  // it was due, and has too few words
  return left_ms;
}

std::optional<Phrase> PhraseChunker::finish() {
  std::optional<Phrase> phrase;
  if (!text_.empty()) phrase = take({text_.size(), PhraseEnd::last});
  *this = PhraseChunker(options_);
  return phrase;
}

}  // namespace parlance
