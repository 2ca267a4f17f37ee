// From the text of an answer, as it is written, to phrases that are spoken one after the other while the rest
// is still unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parlance {

enum class PhraseEnd : uint8_t {
  sentence,  // a mark that ends one, or a new line
  clause,    // a comma, colon, semicolon
  time,      // the text came too slowly to wait for a mark
  last,      // the answer has ended
};

struct Phrase {
  int64_t id = 0;  // counts from 0 in an answer
  std::string text;
  int64_t first_piece = 0, last_piece = 0;  // of the text that came, counted from 0; both belong to it
  PhraseEnd end = PhraseEnd::last;

  bool operator==(const Phrase&) const = default;
};

// Weights are units of text_weight(), about 15 to a second of speech.
struct PhraseOptions {
  float least = 8;             // of a phrase; what is shorter waits for more
  float least_rest = 12;       // that must be known behind a first phrase which ends no sentence
  float long_clause = 60;      // from here on later phrases too may end at a comma
  double first_wait_ms = 350;  // for a mark, since the first text of the phrase; 0: as long as it takes
  double wait_ms = 700;        // for the phrases after the first
};

// Never cuts in numbers (3.5, 1,000), behind abbreviations (Dr.), in addresses (www.example.com) or in words.
class PhraseChunker {
 public:
  explicit PhraseChunker(const PhraseOptions& options = {}) : options_(options) {}

  // Phrases that are complete after this piece, which came at now_ms. Pieces are whole code points.
  std::vector<Phrase> push(std::string_view piece, double now_ms);
  // A phrase that is due although no piece came.
  std::optional<Phrase> flush_if_late(double now_ms);
  // For how long there will be none; nothing: as long as no piece comes.
  std::optional<double> wait_ms(double now_ms) const;
  // What is left at the end of the answer. The next piece begins another one.
  std::optional<Phrase> finish();

 private:
  struct Cut {
    size_t n_bytes;
    PhraseEnd end;
  };
  std::optional<Cut> find_cut();
  std::optional<Phrase> take(Cut cut);
  double patience_ms() const { return next_id_ == 0 ? options_.first_wait_ms : options_.wait_ms; }

  PhraseOptions options_;
  std::string text_;                // that is in no phrase yet
  std::vector<size_t> piece_ends_;  // bytes of text_ up to the end of each piece that it has a part of
  int64_t first_piece_ = 0;         // the number of the first of these
  size_t n_looked_at_ = 0;          // bytes of text_ that no phrase ends in
  std::optional<double> since_ms_;  // when the first of text_ came
  int64_t next_id_ = 0;
};

}  // namespace parlance
