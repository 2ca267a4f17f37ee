// Answers as Ollama's interface has them: one JSON object, or one a line.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "server/answer_writer.h"

namespace parlance {

class OllamaWriter final : public AnswerWriter {
 public:
  // The text stands in a message, or in the member "response".
  OllamaWriter(std::string model, bool is_chat)
      : model_(std::move(model)), is_chat_(is_chat), began_(std::chrono::steady_clock::now()) {}

  Json whole(const Choices& choices, const Json& summary) override;
  std::string_view stream_type() const override { return "application/x-ndjson"; }
  std::string begin(const Choices&) override { return {}; }
  std::string next(ChoiceText& choice) override;
  std::string end(ChoiceText& choice, const Choices& choices, const Json& summary) override;
  std::string finish(const Choices& choices, const Json& summary) override;
  std::string failure(const ApiError& error) override;
  std::string keep_alive() const override { return {}; }

  // The answer to a question without words: the model is there.
  Json loaded() const;

 private:
  Json piece(std::string_view words, std::string_view thoughts) const;
  Json envelope(bool is_done) const;
  std::string calls_line(ChoiceText& choice, size_t n);
  void add_end(Json& json, std::string_view reason) const;
  void add_figures(Json& json, const GenerateResult& result) const;

  const std::string model_;
  const bool is_chat_;
  const std::chrono::steady_clock::time_point began_;
};

}  // namespace parlance
