// What a language model says in answer to a request, as it comes, and who puts it into words for a kind of
// client.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/answer_reader.h"
#include "engine/request.h"
#include "json/json.h"
#include "server/api_error.h"

namespace parlance {

// Tokens that the model said, the end-of-turn token among them.
inline double n_generated(const GenerateResult& result) {
  return static_cast<double>(result.tokens.size()) + (result.has_end_token ? 1 : 0);
}

struct SaidCall {
  std::string id, name, arguments;
};

// One of the answers to a prompt, as far as it has come.
struct ChoiceText {
  int index = 0;
  bool is_first_of_prompt = true;      // the others share its prompt
  size_t n_echo = 0;                   // code points of the prompt that stand before the answer
  std::optional<AnswerReader> reader;  // of a chat; none: everything is words
  size_t n_most_calls = 16;            // what goes beyond is passed over

  std::string words, thoughts;
  std::vector<SaidCall> calls;
  std::vector<TokenLogprobs> logprobs;
  // What no chunk has had yet, and how much of the text they have had.
  std::deque<ReadPiece> unsent;
  std::vector<TokenLogprobs> unsent_logprobs;
  size_t n_sent_code_points = 0;
  size_t n_sent_calls = 0;

  std::string sound;           // its words as a file, where they are spoken
  int64_t n_sound_frames = 0;  // of the codec

  int64_t n_thought_tokens = 0;  // of those that have come, with the marks around thoughts
  std::string finish_reason;     // empty: not yet
  GenerateResult result;         // complete once it has finished

  void add(AnswerPiece piece);
  // Nothing more comes; `reason` is "stop" or "length".
  void finish(const std::string& reason);
  bool has_finished() const { return !finish_reason.empty(); }
  bool has_unsent() const { return !unsent.empty(); }

 private:
  void take(std::vector<ReadPiece> pieces);
  bool is_passing_over_ = false;  // a call too many
};

using Choices = std::vector<ChoiceText>;

// Of one request. A stream is what these give, one after the other: begin(), next() for each piece, end() for
// each choice, finish(); or failure() at any place. `summary` is the member "parlance".
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  virtual Json whole(const Choices& choices, const Json& summary) = 0;

  virtual std::string_view stream_type() const = 0;  // of media
  virtual std::string begin(const Choices& choices) = 0;
  virtual std::string next(ChoiceText& choice) = 0;  // the next piece that has not been sent, which then has
  // The next bytes of its sound, where a stream has sound.
  virtual std::string next_sound(const ChoiceText&, std::string_view) { return {}; }
  virtual std::string end(ChoiceText& choice, const Choices& choices, const Json& summary) = 0;
  virtual std::string finish(const Choices& choices, const Json& summary) = 0;
  virtual std::string failure(const ApiError& error) = 0;
  virtual std::string keep_alive() const = 0;  // in silence; may be empty
};

// data: {…}
std::string event_text(const Json& event);

}  // namespace parlance
