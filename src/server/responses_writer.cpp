#include "server/responses_writer.h"

#include <utility>

#include "base/random_id.h"
#include "server/answer_json.h"

namespace parlance {

namespace {

Json usage_json(const GenerateResult& result) {
  const auto n_said = static_cast<int64_t>(n_generated(result));
  return Json::object({{"input_tokens", result.n_prompt},
                       {"input_tokens_details",
                        Json::object({{"cached_tokens", result.n_prompt_cached},
                                      {"cache_write_tokens", result.n_prompt - result.n_prompt_cached}})},
                       {"output_tokens", n_said},
                       {"output_tokens_details", Json::object({{"reasoning_tokens", 0}})},
                       {"total_tokens", result.n_prompt + n_said}});
}

}  // namespace

void ResponsesWriter::send(std::string_view type,
                           std::initializer_list<std::pair<std::string_view, Json>> members) {
  Json event = Json::object({{"type", type}, {"sequence_number", n_events_++}});
  for (const auto& [name, value] : members) event.set(name, value);
  events_ += "event: " + std::string(type) + "\n" + event_text(event);
}

// Of the last item.
void ResponsesWriter::send_of_item(std::string_view type,
                                   std::initializer_list<std::pair<std::string_view, Json>> members) {
  Json event = Json::object({{"type", type},
                             {"sequence_number", n_events_++},
                             {"item_id", items_.back().id},
                             {"output_index", items_.size() - 1}});
  if (items_.back().kind != Kind::call) event.set("content_index", 0);
  for (const auto& [name, value] : members) event.set(name, value);
  events_ += "event: " + std::string(type) + "\n" + event_text(event);
}

Json ResponsesWriter::logprobs_json(const std::vector<TokenLogprobs>& logprobs) const {
  Json list = Json::array();
  for (const TokenLogprobs& one : logprobs) list.push(token_logprobs_json(one, tokenizer_));
  return list;
}

Json ResponsesWriter::text_part(const Item& item) const {
  Json part = Json::object({{"type", "output_text"}, {"text", item.text}, {"annotations", Json::array()}});
  if (has_logprobs_) part.set("logprobs", logprobs_json(item.logprobs));
  return part;
}

Json ResponsesWriter::item_json(const Item& item) const {
  switch (item.kind) {
    case Kind::reasoning: {
      const Json part = Json::object({{"type", "reasoning_text"}, {"text", item.text}});
      return Json::object({{"id", item.id},
                           {"type", "reasoning"},
                           {"summary", Json::array()},
                           {"content", Json::array().push(part)},
                           {"status", item.status}});
    }
    case Kind::message: {
      Json content = Json::array();
      if (item.status != "in_progress") content.push(text_part(item));
      return Json::object({{"id", item.id},
                           {"type", "message"},
                           {"status", item.status},
                           {"role", "assistant"},
                           {"content", content}});
    }
    case Kind::call:
      break;
  }
  return Json::object({{"id", item.id},
                       {"type", "function_call"},
                       {"status", item.status},
                       {"call_id", item.call_id},
                       {"name", item.name},
                       {"arguments", item.text}});
}

void ResponsesWriter::open(Kind kind) {
  if (!items_.empty() && items_.back().status == "in_progress") {
    if (items_.back().kind == kind && kind != Kind::call) return;
    close("completed");
  }
  const char* prefix = kind == Kind::reasoning ? "rs_" : kind == Kind::message ? "msg_" : "fc_";
  items_.push_back(
      {.kind = kind, .id = random_id(prefix), .text = {}, .call_id = {}, .name = {}, .logprobs = {}});
}

void ResponsesWriter::close(const std::string& status) {
  Item& item = items_.back();
  item.status = status;
  if (item.kind == Kind::reasoning) {
    send_of_item("response.reasoning_text.done", {{"text", item.text}});
  } else if (item.kind == Kind::message) {
    send_of_item("response.output_text.done",
                 {{"text", item.text}, {"logprobs", logprobs_json(item.logprobs)}});
    send_of_item("response.content_part.done", {{"part", text_part(item)}});
  } else {
    send_of_item("response.function_call_arguments.done", {{"name", item.name}, {"arguments", item.text}});
  }
  send("response.output_item.done", {{"output_index", items_.size() - 1}, {"item", item_json(item)}});
}

void ResponsesWriter::take(const ReadPiece& piece) {
  const size_t n_before = items_.size();
  const auto announce = [&] {
    if (items_.size() == n_before) return;
    send("response.output_item.added",
         {{"output_index", items_.size() - 1}, {"item", item_json(items_.back())}});
  };
  switch (piece.kind) {
    case ReadPiece::Kind::thoughts:
      open(Kind::reasoning);
      announce();
      items_.back().text += piece.text;
      return send_of_item("response.reasoning_text.delta", {{"delta", piece.text}});
    case ReadPiece::Kind::words:
      open(Kind::message);
      announce();
      if (items_.size() > n_before)
        send_of_item("response.content_part.added", {{"part", text_part(items_.back())}});
      items_.back().text += piece.text;
      return;  // the delta has what is known of its tokens: see next()
    case ReadPiece::Kind::call:
      open(Kind::call);
      items_.back().call_id = random_id("call_");
      items_.back().name = piece.text;
      return announce();
    case ReadPiece::Kind::arguments:
      items_.back().text += piece.text;
      return send_of_item("response.function_call_arguments.delta", {{"delta", piece.text}});
  }
}

// The response as far as it has come.
Json ResponsesWriter::response_with(const std::string& status, const Json& usage) const {
  Json output = Json::array();
  for (const Item& item : items_) {
    if (item.status != "in_progress") output.push(item_json(item));
  }
  Json response = head_;
  return response.set("status", status).set("output", output).set("usage", usage);
}

std::string ResponsesWriter::begin(const Choices&) {
  for (const char* type : {"response.created", "response.in_progress"})
    send(type, {{"response", response_with("in_progress", {})}});
  return std::exchange(events_, {});
}

std::string ResponsesWriter::next(ChoiceText& choice) {
  const ReadPiece piece = std::move(choice.unsent.front());
  choice.unsent.pop_front();
  take(piece);
  if (piece.kind == ReadPiece::Kind::words) {
    auto logprobs = std::exchange(choice.unsent_logprobs, {});
    send_of_item("response.output_text.delta",
                 {{"delta", piece.text}, {"logprobs", logprobs_json(logprobs)}});
    std::ranges::move(logprobs, std::back_inserter(items_.back().logprobs));
  }
  return std::exchange(events_, {});
}

// An answer without anything is an empty message.
void ResponsesWriter::end_items(const Choices& choices) {
  if (items_.empty()) {
    take({.kind = ReadPiece::Kind::words, .text = {}});
    send_of_item("response.output_text.delta", {{"delta", ""}, {"logprobs", Json::array()}});
  }
  if (items_.back().status == "in_progress")
    close(choices.front().finish_reason == "length" ? "incomplete" : "completed");
}

Json ResponsesWriter::completed(const Choices& choices) {
  const bool is_cut = choices.front().finish_reason == "length";
  if (is_cut) head_.set("incomplete_details", Json::object({{"reason", "max_output_tokens"}}));
  Json response = response_with(is_cut ? "incomplete" : "completed", usage_json(choices.front().result));
  std::vector<Json> items;
  for (const Item& item : items_) items.push_back(item_json(item));
  on_done_(response, items);
  return response;
}

std::string ResponsesWriter::end(ChoiceText&, const Choices& choices, const Json&) {
  end_items(choices);
  return std::exchange(events_, {});
}

std::string ResponsesWriter::finish(const Choices& choices, const Json& summary) {
  Json response = completed(choices);
  response.set("parlance", summary).set("timings", timings_json(choices));
  const bool is_cut = choices.front().finish_reason == "length";
  send(is_cut ? "response.incomplete" : "response.completed", {{"response", response}});
  return std::exchange(events_, {});
}

std::string ResponsesWriter::failure(const ApiError& error) {
  head_.set("error", Json::object({{"code", error.code}, {"message", error.message}}));
  send("response.failed", {{"response", response_with("failed", {})}});
  return std::exchange(events_, {});
}

Json ResponsesWriter::whole(const Choices& choices, const Json& summary) {
  ChoiceText choice;
  choice.unsent = choices.front().unsent;
  choice.unsent_logprobs = choices.front().logprobs;
  while (choice.has_unsent()) (void)next(choice);
  end_items(choices);
  return completed(choices).set("parlance", summary).set("timings", timings_json(choices));
}

}  // namespace parlance
