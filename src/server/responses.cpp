// /v1/responses: the newer form of OpenAI's interface, whose answers are kept for a while, over the same
// chats.
#include <ctime>

#include "base/random_id.h"
#include "server/answer_terms.h"
#include "server/chat_request.h"
#include "server/responses_input.h"
#include "server/responses_writer.h"
#include "server/site.h"

namespace parlance {

namespace {

ApiError no_response(const std::string& id) {
  return {.status = 404,
          .code = "response_not_found",
          .message = fmt::format("there is no response {}; responses are kept for an hour, and those with "
                                 "\"store\": false not at all",
                                 Json(id).line())};
}

// The conversation: that of the response before, and what is new.
ApiResult<std::vector<Json>> read_conversation(Site& site, const Call& call, const Body& body) {
  std::vector<Json> items;
  const std::string owner = owner_of(site, call);
  if (const auto id = body.text("previous_response_id")) {
    auto before = site.responses.find(*id, owner);
    if (!before) {
      ApiError error = no_response(*id);
      error.param = "previous_response_id";
      return tl::unexpected(std::move(error));
    }
    items = std::move(before->items);
  }
  const Json* input = body.find("input");
  if (!input) return refuse("missing_required_parameter", "input", "there is no input; give a text or items");
  PARLANCE_API_TRY(const auto more, read_items(*input, [&](const std::string& id) {
                     return site.responses.find_item(id, owner);
                   }));
  items.insert(items.end(), more.begin(), more.end());
  return items;
}

ApiResult<TextAnswerTerms> terms_of(Site& site, const Call& call, const Body& body,
                                    const std::vector<Json>& items) {
  PARLANCE_API_TRY(const Json chat, chat_of_response(body, items));
  PARLANCE_API_TRY(const CheckedBody checked,
                   check_fields(chat_fields(), chat, {.n_ctx = site.text->context()->options().n_ctx}));
  return read_chat_terms(site, call, checked.body);
}

// With `truncation` "auto", the oldest items go until the context holds the rest: an eighth at a time.
ApiResult<TextAnswerTerms> fitting_terms(Site& site, const Call& call, const Body& body,
                                         std::vector<Json> items) {
  for (;;) {
    auto terms = terms_of(site, call, body, items);
    if (terms) return terms;
    const bool may_cut = terms.error().code == "context_length_exceeded" && body.text("truncation") == "auto";
    const bool has_more = may_cut && items.size() > 1;
    if (has_more) cut_oldest(items, 1 + items.size() / 8);
    if (!has_more || items.empty()) return tl::unexpected(in_names_of_responses(std::move(terms).error()));
  }
}

// With the digits that were given.
Json number_json(float value) {
  return *Json::parse(fmt::format("{}", value));
}

// What is known of a response before it is made.
Json head_of(const Body& body, const TextAnswerTerms& terms, const std::string& id) {
  const auto given = [&](const char* name, const Json& otherwise) {
    const Json* value = body.find(name);
    return value ? *value : otherwise;
  };
  const Body text = body.object("text"), reasoning = body.object("reasoning");
  const Json *format = text.find("format"), *effort = reasoning.find("effort");
  const SamplingOptions& sampling = terms.generate.sampling;
  return Json::object(
      {{"id", id},
       {"object", "response"},
       {"created_at", static_cast<int64_t>(std::time(nullptr))},
       {"status", "in_progress"},
       {"access_programs", Json()},
       {"background", false},
       {"error", Json()},
       {"incomplete_details", Json()},
       {"instructions", given("instructions", {})},
       {"max_output_tokens", given("max_output_tokens", {})},
       {"metadata", given("metadata", Json::object())},
       {"model", terms.model},
       {"output", Json::array()},
       {"parallel_tool_calls", !terms.is_one_call},
       {"previous_response_id", given("previous_response_id", {})},
       {"reasoning", Json::object({{"effort", effort ? *effort : Json()}, {"summary", Json()}})},
       {"service_tier", "default"},
       {"store", body.boolean("store", true)},
       {"temperature", number_json(sampling.temperature)},
       {"text", Json::object({{"format", format ? *format : Json::object({{"type", "text"}})}})},
       {"tool_choice", given("tool_choice", "auto")},
       {"tools", given("tools", Json::array())},
       {"top_logprobs", given("top_logprobs", 0)},
       {"top_p", number_json(sampling.top_p)},
       {"truncation", given("truncation", "disabled")},
       {"usage", Json()}});
}

ResponsesWriter::OnDone keeper_of(Site& site, std::string id, std::string owner, std::vector<Json> items) {
  return [&site, id = std::move(id), owner = std::move(owner), items = std::move(items)](
             const Json& response, const std::vector<Json>& output) {
    std::vector<Json> all = items;
    all.insert(all.end(), output.begin(), output.end());
    site.responses.keep({.id = id, .owner = owner, .response = response, .items = std::move(all)});
  };
}

ApiResult<void> answer_n_tokens(const Call& call, const TextAnswerTerms& terms, const char* object) {
  call.reply->send(
      json_answer(Json::object({{"object", object}, {"input_tokens", std::ssize(terms.prompts.front())}})));
  return {};
}

}  // namespace

ApiResult<void> create_response(Site& site, Call& call) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, responses_fields()));
  const Body& body = checked.body;
  PARLANCE_API_TRY(const auto items, read_conversation(site, call, body));
  PARLANCE_API_TRY(TextAnswerTerms terms, fitting_terms(site, call, body, items));
  terms.ignored = checked.ignored;
  const std::string id = random_id("resp_");
  auto on_done = body.boolean("store", true) ? keeper_of(site, id, owner_of(site, call), items)
                                             : [](const Json&, const std::vector<Json>&) {};
  terms.writer = std::make_unique<ResponsesWriter>(head_of(body, terms, id), body.has("top_logprobs"),
                                                   site.text->model().tokenizer(), std::move(on_done));
  return start_text_answer(site, call, std::move(terms));
}

ApiResult<void> count_response_tokens(Site& site, Call& call) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, responses_fields()));
  PARLANCE_API_TRY(const auto items, read_conversation(site, call, checked.body));
  PARLANCE_API_TRY(const TextAnswerTerms terms, fitting_terms(site, call, checked.body, items));
  return answer_n_tokens(call, terms, "response.input_tokens");
}

ApiResult<void> count_chat_tokens(Site& site, Call& call) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, chat_fields()));
  PARLANCE_API_TRY(const TextAnswerTerms terms, read_chat_terms(site, call, checked.body));
  return answer_n_tokens(call, terms, "chat.completion.input_tokens");
}

ApiResult<void> show_response(Site& site, Call& call) {
  const auto stored = site.responses.find(call.path_values.front(), owner_of(site, call));
  if (!stored) return tl::unexpected(no_response(call.path_values.front()));
  call.reply->send(json_answer(stored->response));
  return {};
}

ApiResult<void> delete_response(Site& site, Call& call) {
  const std::string& id = call.path_values.front();
  if (!site.responses.remove(id, owner_of(site, call))) return tl::unexpected(no_response(id));
  call.reply->send(json_answer(Json::object({{"id", id}, {"object", "response"}, {"deleted", true}})));
  return {};
}

}  // namespace parlance
