// Answers of a language model as JSON, in the forms of OpenAI's interface: whole, and as chunks of a stream.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "chat/answer_reader.h"
#include "engine/request.h"
#include "json/json.h"
#include "tokenizer/tokenizer.h"

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

  std::string finish_reason;  // empty: not yet
  GenerateResult result;      // complete once it has finished

  void add(AnswerPiece piece);
  // Nothing more comes; `reason` is "stop" or "length".
  void finish(const std::string& reason);
  bool has_finished() const { return !finish_reason.empty(); }
  bool has_unsent() const { return !unsent.empty(); }

 private:
  void take(std::vector<ReadPiece> pieces);
  bool is_passing_over_ = false;  // a call too many
};

struct AnswerEnvelope {
  bool is_chat = true;
  bool wants_usage = false;
  std::string id;
  int64_t created_unix_s = 0;
  std::string model, fingerprint;
  bool has_logprobs = false;
};

class AnswerWriter {
 public:
  // The tokenizer must outlive the writer.
  AnswerWriter(AnswerEnvelope form, const Tokenizer& tokenizer)
      : form_(std::move(form)), tokenizer_(tokenizer) {}

  // `summary` is the member "parlance".
  Json whole(const std::vector<ChoiceText>& choices, const Json& summary) const;

  Json first_chunk(const ChoiceText& choice) const;  // of a chat: the role
  Json chunk(ChoiceText& choice) const;              // the next piece that has not been sent, which then has
  Json last_chunk(ChoiceText& choice) const;         // why it ended
  Json usage_chunk(const std::vector<ChoiceText>& choices, const Json& summary) const;
  void add_summary(Json& event, const std::vector<ChoiceText>& choices, const Json& summary) const;

 private:
  Json envelope(bool is_chunk) const;
  Json chunk_with(const ChoiceText& choice, const Json& delta, const Json& logprobs,
                  const Json& finish) const;
  Json logprobs_json(const std::vector<TokenLogprobs>& logprobs, size_t text_offset) const;
  Json token_json(const TokenLogprob& one) const;
  Json message(const ChoiceText& choice) const;
  Json usage(const std::vector<ChoiceText>& choices) const;

  const AnswerEnvelope form_;
  const Tokenizer& tokenizer_;
};

// As llama.cpp's server gives them.
Json timings_json(const std::vector<ChoiceText>& choices);

}  // namespace parlance
