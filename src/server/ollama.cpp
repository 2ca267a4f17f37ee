// /api/…: as much of Ollama's interface as programs need that speak nothing else, such as Home Assistant.
#include <algorithm>
#include <array>
#include <utility>

#include "assistant/conversation.h"
#include "gguf/totals.h"
#include "server/answer_terms.h"
#include "server/chat_request.h"
#include "server/ollama_input.h"
#include "server/ollama_writer.h"
#include "server/site.h"
#include "server/utc_time.h"

namespace parlance {

namespace {

const ModelOffer& text_offer(const Site& site) {
  return site.offers.front();
}

// "596.0M", "8.2B"
std::string parameters_in_words(double n) {
  return n < 1e9 ? fmt::format("{:.1f}M", n / 1e6) : fmt::format("{:.1f}B", n / 1e9);
}

Json details_json(const Site& site) {
  const GgufFile& file = site.text->model().file();
  const Json family(site.text->model().hyper_parameters().architecture);
  return Json::object({{"parent_model", ""},
                       {"format", "gguf"},
                       {"family", family},
                       {"families", Json::array().push(family)},
                       {"parameter_size", parameters_in_words(static_cast<double>(n_weights(file)))},
                       {"quantization_level", dominant_type(file)}});
}

std::string written_text(const Site& site) {
  return utc_text(std::chrono::system_clock::from_time_t(site.created_unix_s));
}

Json model_json(const Site& site) {
  const std::string name = text_offer(site).id + std::string(kOllamaTag);
  return Json::object({{"name", name},
                       {"model", name},
                       {"modified_at", written_text(site)},
                       {"size", weight_bytes(site.text->model().file())},
                       {"digest", site.fingerprint.substr(site.fingerprint.find('_') + 1)},
                       {"details", details_json(site)}});
}

// An answer to a body in the form of chats or completions.
ApiResult<void> start(Site& site, Call& call, TextAnswerTerms terms, std::vector<std::string> ignored,
                      bool is_chat) {
  terms.ignored = std::move(ignored);
  terms.writer = std::make_unique<OllamaWriter>(text_offer(site).id, is_chat);
  return start_text_answer(site, call, std::move(terms));
}

ApiResult<TextAnswerTerms> terms_of_chat(Site& site, const Call& call, const Json& chat) {
  PARLANCE_API_TRY(const CheckedBody checked,
                   check_fields(chat_fields(), chat, {.n_ctx = site.text->context()->options().n_ctx}));
  return read_chat_terms(site, call, checked.body);
}

ApiResult<TextAnswerTerms> chat_terms(Site& site, const Call& call, const Body& body) {
  PARLANCE_API_TRY(const Json chat, chat_of_ollama(body));
  return terms_of_chat(site, call, chat).map_error([&](ApiError error) {
    return in_names_of_ollama(std::move(error), /*is_chat=*/body.has("messages"));
  });
}

ApiResult<void> say_loaded(const Site& site, const Call& call, bool is_chat) {
  call.reply->send(json_answer(OllamaWriter(text_offer(site).id, is_chat).loaded()));
  return {};
}

}  // namespace

ApiResult<void> ollama_version(Site& site, Call& call) {
  call.reply->send(json_answer(Json::object({{"version", site.version}})));
  return {};
}

ApiResult<void> ollama_models(Site& site, Call& call) {
  call.reply->send(json_answer(Json::object({{"models", Json::array().push(model_json(site))}})));
  return {};
}

ApiResult<void> ollama_running(Site& site, Call& call) {
  constexpr std::chrono::days kYear{365};  // it stays as long as the server runs
  Json model = model_json(site);
  model.set("expires_at", utc_text(std::chrono::system_clock::now() + kYear)).set("size_vram", 0);
  model.set("context_length", site.text->context()->options().n_ctx);
  call.reply->send(json_answer(Json::object({{"models", Json::array().push(model)}})));
  return {};
}

ApiResult<void> ollama_show(Site& site, Call& call) {
  PARLANCE_API_TRY(const Json json, parse_body(call.request.body));
  const Body body(json);
  const auto name = without_tag(body.has("model") ? body.text("model") : body.text("name"));
  PARLANCE_API_CHECK(find_offer(site, name, ModelKind::text));
  const TextModel& model = site.text->model();
  const std::string source(model.tokenizer().chat_template().value_or(""));
  Json capabilities = Json::array();
  capabilities.push("completion").push("tools");
  if (source.find("enable_thinking") != std::string::npos) capabilities.push("thinking");
  const std::string architecture = model.hyper_parameters().architecture;
  const Json info = Json::object({{"general.architecture", architecture},
                                  {"general.parameter_count", n_weights(model.file())},
                                  {architecture + ".context_length", site.text->context()->options().n_ctx},
                                  {architecture + ".embedding_length", model.hyper_parameters().n_embd},
                                  {architecture + ".block_count", model.hyper_parameters().n_layer}});
  call.reply->send(json_answer(Json::object({{"modified_at", written_text(site)},
                                             {"details", details_json(site)},
                                             {"model_info", info},
                                             {"capabilities", capabilities},
                                             {"template", source}})));
  return {};
}

ApiResult<void> ollama_chat(Site& site, Call& call) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, ollama_chat_fields()));
  const Json* given = checked.body.find("messages");
  if (!given || given->elements()->empty()) {
    PARLANCE_API_CHECK(find_offer(site, without_tag(checked.body.text("model")), ModelKind::text));
    return say_loaded(site, call, /*is_chat=*/true);
  }
  PARLANCE_API_TRY(TextAnswerTerms terms, chat_terms(site, call, checked.body));
  return start(site, call, std::move(terms), checked.ignored, /*is_chat=*/true);
}

ApiResult<void> ollama_generate(Site& site, Call& call) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, ollama_generate_fields()));
  const Body& body = checked.body;
  const std::string prompt = body.text("prompt").value_or("");
  if (prompt.empty()) {
    PARLANCE_API_CHECK(find_offer(site, without_tag(body.text("model")), ModelKind::text));
    return say_loaded(site, call, /*is_chat=*/false);
  }
  PARLANCE_API_TRY(TextAnswerTerms terms, chat_terms(site, call, body));
  if (body.boolean("raw")) {
    terms.reader.reset();
    terms.prompts = {tokens_of_prompt(site.text->model(), prompt)};
    PARLANCE_API_CHECK(fit_to_context(site, "prompt", terms));
  }
  return start(site, call, std::move(terms), checked.ignored, /*is_chat=*/false);
}

HttpAnswer in_ollamas_form(HttpAnswer answer) {
  const auto json = Json::parse(answer.body);
  const auto error = json ? json->member("error") : std::nullopt;
  const auto message = error && error->is_object() ? error->member("message") : std::nullopt;
  if (message) answer.body = Json::object({{"error", *message}}).line();
  return answer;
}

}  // namespace parlance
