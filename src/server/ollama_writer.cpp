#include "server/ollama_writer.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "server/answer_json.h"
#include "server/utc_time.h"

namespace parlance {

namespace {

int64_t nanoseconds(double ms) {
  return std::llround(std::max(ms, 0.0) * 1e6);
}

// Arguments are an object here: a call that was cut off is none.
std::optional<Json> call_json(const SaidCall& call) {
  auto arguments = Json::parse(call.arguments);
  if (!arguments || !arguments->is_object()) return std::nullopt;
  const Json function = Json::object({{"name", call.name}, {"arguments", *arguments}});
  return Json::object({{"id", call.id}, {"function", function}});
}

Json calls_json(const std::vector<SaidCall>& calls) {
  Json list = Json::array();
  for (const SaidCall& call : calls) {
    if (const auto json = call_json(call)) list.push(*json);
  }
  return list;
}

}  // namespace

Json OllamaWriter::envelope(bool is_done) const {
  return Json::object({{"model", model_ + ":latest"},
                       {"created_at", utc_text(std::chrono::system_clock::now())},
                       {"done", is_done}});
}

Json OllamaWriter::piece(std::string_view words, std::string_view thoughts) const {
  Json json = envelope(/*is_done=*/false);
  if (!is_chat_) {
    json.set("response", words);
    return thoughts.empty() ? json : json.set("thinking", thoughts);
  }
  Json message = Json::object({{"role", "assistant"}, {"content", words}});
  if (!thoughts.empty()) message.set("thinking", thoughts);
  return json.set("message", message);
}

void OllamaWriter::add_end(Json& json, std::string_view reason) const {
  json.set("done", true).set("done_reason", reason == "length" ? "length" : "stop");
}

void OllamaWriter::add_figures(Json& json, const GenerateResult& result) const {
  const std::chrono::duration<double, std::milli> total = std::chrono::steady_clock::now() - began_;
  json.set("total_duration", nanoseconds(total.count()))
      .set("load_duration", 0)
      .set("prompt_eval_count", result.n_prompt)
      .set("prompt_eval_duration", nanoseconds(result.prefill_ms - result.queue_ms))
      .set("eval_count", static_cast<int64_t>(n_generated(result)))
      .set("eval_duration", nanoseconds(result.decode_ms));
}

// A call comes whole, when the next one begins or nothing more comes: up to the n-th.
std::string OllamaWriter::calls_line(ChoiceText& choice, size_t n) {
  std::string lines;
  for (; choice.n_sent_calls < n; ++choice.n_sent_calls) {
    const auto call = call_json(choice.calls[choice.n_sent_calls]);
    if (!call) continue;
    const Json message =
        Json::object({{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array().push(*call)}});
    lines += envelope(/*is_done=*/false).set("message", message).line() + "\n";
  }
  return lines;
}

std::string OllamaWriter::next(ChoiceText& choice) {
  const ReadPiece said = std::move(choice.unsent.front());
  choice.unsent.pop_front();
  switch (said.kind) {
    case ReadPiece::Kind::words:
      return piece(said.text, {}).line() + "\n";
    case ReadPiece::Kind::thoughts:
      return piece({}, said.text).line() + "\n";
    case ReadPiece::Kind::call:
    case ReadPiece::Kind::arguments:
      break;
  }
  return {};
}

std::string OllamaWriter::end(ChoiceText& choice, const Choices&, const Json&) {
  return calls_line(choice, choice.calls.size());
}

std::string OllamaWriter::finish(const Choices& choices, const Json&) {
  Json json = piece({}, {});
  add_end(json, choices.front().finish_reason);
  add_figures(json, choices.front().result);
  return json.line() + "\n";
}

std::string OllamaWriter::failure(const ApiError& error) {
  return Json::object({{"error", error.message}}).line() + "\n";
}

Json OllamaWriter::whole(const Choices& choices, const Json&) {
  const ChoiceText& choice = choices.front();
  Json json = piece(choice.words, choice.thoughts);
  if (is_chat_ && !choice.calls.empty()) {
    Json message = *json.member("message");
    json.set("message", message.set("tool_calls", calls_json(choice.calls)));
  }
  add_end(json, choice.finish_reason);
  add_figures(json, choice.result);
  return json;
}

Json OllamaWriter::loaded() const {
  Json json = piece({}, {});
  return json.set("done", true).set("done_reason", "load");
}

}  // namespace parlance
