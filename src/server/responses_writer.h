// Answers as OpenAI's Responses interface has them: a list of items (thoughts, a message, calls), whole or as
// events.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_writer.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

class ResponsesWriter final : public AnswerWriter {
 public:
  // `head` has the members that are known before, in their order. `on_done` is given the response and its
  // items when it is whole. The tokenizer must outlive the writer.
  using OnDone = std::function<void(const Json& response, const std::vector<Json>& items)>;
  ResponsesWriter(Json head, bool has_logprobs, const Tokenizer& tokenizer, OnDone on_done)
      : head_(std::move(head)),
        has_logprobs_(has_logprobs),
        tokenizer_(tokenizer),
        on_done_(std::move(on_done)) {}

  Json whole(const Choices& choices, const Json& summary) override;
  std::string_view stream_type() const override { return "text/event-stream; charset=utf-8"; }
  std::string begin(const Choices& choices) override;
  std::string next(ChoiceText& choice) override;
  std::string end(ChoiceText& choice, const Choices& choices, const Json& summary) override;
  std::string finish(const Choices& choices, const Json& summary) override;
  std::string failure(const ApiError& error) override;
  std::string keep_alive() const override { return ": keep-alive\n\n"; }

 private:
  enum class Kind : uint8_t { reasoning, message, call };
  struct Item {
    Kind kind;
    std::string id;
    std::string text;           // words, thoughts or arguments
    std::string call_id, name;  // of a call
    std::vector<TokenLogprobs> logprobs;
    std::string status = "in_progress";
  };

  void take(const ReadPiece& piece);
  void open(Kind kind);
  void close(const std::string& status);
  void end_items(const Choices& choices);
  Json item_json(const Item& item) const;
  Json text_part(const Item& item) const;
  Json logprobs_json(const std::vector<TokenLogprobs>& logprobs) const;
  Json response_with(const std::string& status, const Json& usage) const;
  Json completed(const Choices& choices);
  void send(std::string_view type, std::initializer_list<std::pair<std::string_view, Json>> members);
  void send_of_item(std::string_view type, std::initializer_list<std::pair<std::string_view, Json>> members);

  Json head_;
  const bool has_logprobs_;
  const Tokenizer& tokenizer_;
  const OnDone on_done_;
  std::vector<Item> items_;
  std::string events_;  // that nobody has taken yet
  int64_t n_events_ = 0;
};

}  // namespace parlance
