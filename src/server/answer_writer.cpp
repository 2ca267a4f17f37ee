#include "server/answer_writer.h"

#include <utility>

#include "base/random_id.h"

namespace parlance {

void ChoiceText::take(std::vector<ReadPiece> pieces) {
  for (ReadPiece& piece : pieces) {
    if (piece.kind == ReadPiece::Kind::call) is_passing_over_ = calls.size() >= n_most_calls;
    const bool is_of_call = piece.kind == ReadPiece::Kind::call || piece.kind == ReadPiece::Kind::arguments;
    if (is_of_call && is_passing_over_) continue;
    switch (piece.kind) {
      case ReadPiece::Kind::words:
        words += piece.text;
        break;
      case ReadPiece::Kind::thoughts:
        thoughts += piece.text;
        break;
      case ReadPiece::Kind::call:
        calls.push_back({.id = random_id("call_"), .name = piece.text, .arguments = {}});
        break;
      case ReadPiece::Kind::arguments:
        calls.back().arguments += piece.text;
        break;
    }
    unsent.push_back(std::move(piece));
  }
}

void ChoiceText::add(AnswerPiece piece) {
  result.tokens.insert(result.tokens.end(), piece.tokens.begin(), piece.tokens.end());
  if (reader) {
    const bool was_in_thoughts = reader->is_in_thoughts();
    take(reader->push(piece.text));
    if (was_in_thoughts || reader->is_in_thoughts()) n_thought_tokens += std::ssize(piece.tokens);
  } else if (!piece.text.empty()) {
    take({{.kind = ReadPiece::Kind::words, .text = std::move(piece.text)}});
  }
  for (TokenLogprobs& one : piece.logprobs) {
    unsent_logprobs.push_back(one);
    logprobs.push_back(std::move(one));
  }
}

void ChoiceText::finish(const std::string& reason) {
  if (reader) take(reader->finish());
  finish_reason = reason == "stop" && !calls.empty() ? "tool_calls" : reason;
}

std::string event_text(const Json& event) {
  return "data: " + event.line() + "\n\n";
}

}  // namespace parlance
