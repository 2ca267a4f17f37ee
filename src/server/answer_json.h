// Answers of chats and completions as JSON, in the forms of OpenAI's interface: whole, and as chunks of a
// stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/answer_writer.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

struct AnswerEnvelope {
  bool is_chat = true;
  bool wants_usage = false;
  std::string id;
  int64_t created_unix_s = 0;
  std::string model, fingerprint;
  bool has_logprobs = false;
  std::string audio_id = {};  // of an answer that is spoken; empty: none is
};

class CompletionWriter final : public AnswerWriter {
 public:
  // The tokenizer must outlive the writer.
  CompletionWriter(AnswerEnvelope form, const Tokenizer& tokenizer)
      : form_(std::move(form)), tokenizer_(tokenizer) {}

  Json whole(const Choices& choices, const Json& summary) override;
  std::string_view stream_type() const override { return "text/event-stream; charset=utf-8"; }
  std::string begin(const Choices& choices) override;
  std::string next(ChoiceText& choice) override;
  std::string next_sound(const ChoiceText& choice, std::string_view bytes) override;
  std::string end(ChoiceText& choice, const Choices& choices, const Json& summary) override;
  std::string finish(const Choices& choices, const Json& summary) override;
  std::string failure(const ApiError& error) override;
  std::string keep_alive() const override { return ": keep-alive\n\n"; }

 private:
  Json envelope(bool is_chunk) const;
  Json chunk_with(const ChoiceText& choice, const Json& delta, const Json& logprobs,
                  const Json& finish) const;
  Json logprobs_json(const std::vector<TokenLogprobs>& logprobs, size_t text_offset) const;
  Json message(const ChoiceText& choice) const;
  bool is_spoken() const { return !form_.audio_id.empty(); }
  Json audio_expiry() const { return form_.created_unix_s + kAudioSeconds; }
  std::string audio_chunk(const ChoiceText& choice, const Json& audio) const;
  Json chunk(ChoiceText& choice) const;
  Json usage(const Choices& choices) const;
  void add_summary(Json& event, const Choices& choices, const Json& summary) const;

  static constexpr int64_t kAudioSeconds = 3600;

  const AnswerEnvelope form_;
  const Tokenizer& tokenizer_;
  bool has_audio_begun_ = false;
};

// {token, logprob, bytes, top_logprobs}
Json token_logprobs_json(const TokenLogprobs& logprobs, const Tokenizer& tokenizer);

// As llama.cpp's server gives them.
Json timings_json(const Choices& choices);

}  // namespace parlance
