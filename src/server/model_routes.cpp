// What there is: models, voices, figures, and what llama.cpp's clients ask for.
#include <algorithm>
#include <array>

#include "assistant/conversation.h"
#include "base/os/memory.h"
#include "base/os/process.h"
#include "base/parse_number.h"
#include "engine/scheduler.h"
#include "server/answer_terms.h"
#include "server/chat_request.h"
#include "server/site.h"
#include "server/voices.h"

namespace parlance {

namespace {

void answer(const Call& call, const Json& json) {
  call.reply->send(json_answer(json));
}

Json model_json(const Site& site, const ModelOffer& offer) {
  Json about = Json::object({{"kind", name_of(offer.kind)}});
  if (offer.kind == ModelKind::text) {
    const Context& context = *site.text->context();
    about.set("ctx", context.options().n_ctx);
    about.set("kv", Json::object({{"k", name_of(context.options().cache.k.format)},
                                  {"v", name_of(context.options().cache.v.format)},
                                  {"bytes_per_token", context.layout().bytes_per_token()}}));
  }
  if (offer.kind == ModelKind::tts) {
    Json voices = Json::array();
    for (const std::string& voice : offered_voices(site)) voices.push(voice);
    about.set("voices", voices);
  }
  return Json::object({{"id", offer.id},
                       {"object", "model"},
                       {"created", site.created_unix_s},
                       {"owned_by", "parlance"},
                       {"parlance", about}});
}

// Figures of the language model's scheduler and cache.
void update_context_figures(Metrics& m, Context& context) {
  const SchedulerStats stats = context.scheduler().stats();
  double n_running = 0, n_waiting = 0;
  constexpr std::array kClasses = {"voice", "interactive", "background"};  // by Priority
  for (size_t i = 0; i < kClasses.size(); ++i) {
    const SchedulerStats::Queue& queue = stats.queues[i];
    m.set("requests_running", static_cast<double>(queue.n_running), {{"class", kClasses[i]}});
    m.set("requests_queued", static_cast<double>(queue.n_waiting), {{"class", kClasses[i]}});
    m.set("queue_age_seconds", queue.oldest_s, {{"class", kClasses[i]}});
    n_running += static_cast<double>(queue.n_running);
    n_waiting += static_cast<double>(queue.n_waiting);
  }
  m.set("llamacpp:requests_processing", n_running);
  m.set("llamacpp:requests_deferred", n_waiting);
  const PagePool& pages = context.pools()[PageKind::main];
  const double n_pages = pages.n_pages(), n_free = pages.n_free();
  m.set("kv_pages", n_free, {{"state", "free"}});
  m.set("kv_pages", n_pages - n_free, {{"state", "used"}});
  m.set("kv_cache_usage_ratio", n_pages > 0 ? 1 - n_free / n_pages : 0);
  constexpr std::array kKept = {"background", "short_lived", "conversation"};  // by PrefixClass
  const auto n_evicted = context.tree().stats().n_evicted_of_class;
  for (size_t i = 0; i < kKept.size(); ++i) {
    m.raise("kv_evicted_pages_total", static_cast<double>(n_evicted[i]), {{"class", kKept[i]}});
  }
}

// What is looked up when somebody asks.
void update_figures(Site& site) {
  Metrics& m = site.metrics;
  if (site.is_loaded) update_context_figures(m, *site.text->context());
  if (const Listener* const listener = site.listener) {
    const ConnectionCounts counts = listener->counts();
    m.set("http_connections", static_cast<double>(counts.n_active), {{"state", "active"}});
    m.set("http_connections", static_cast<double>(counts.n_idle), {{"state", "idle"}});
  }
  if (const WyomingDoor* const door = site.wyoming) {
    m.set("wyoming_connections", static_cast<double>(door->n_connections()));
  }
  const auto rate = [&](const char* gauge, const char* amount, const char* seconds) {
    const double s = m.value(seconds);
    m.set(gauge, s > 0 ? m.value(amount) / s : 0);
  };
  rate("llamacpp:prompt_tokens_seconds", "llamacpp:prompt_tokens_total", "llamacpp:prompt_seconds_total");
  rate("llamacpp:predicted_tokens_seconds", "llamacpp:tokens_predicted_total",
       "llamacpp:tokens_predicted_seconds_total");
  const ProcessUse use = process_use();
  m.raise("process_cpu_seconds_total", use.cpu_seconds);
  m.set("process_resident_memory_bytes", static_cast<double>(resident_memory()));
  m.set("process_open_fds", static_cast<double>(use.n_open_files));
  m.set("process_threads", static_cast<double>(use.n_threads));
  m.set("process_start_time_seconds", use.started_unix_s);
}

// Numbers of tokens.
ApiResult<std::vector<Token>> read_tokens(const Site& site, const Body& body) {
  const Json* given = body.find("tokens");
  const auto elements = given ? given->elements() : std::nullopt;
  if (!elements) return refuse("invalid_type", "tokens", "tokens must be an array of whole numbers");
  std::vector<Token> tokens;
  for (const Json& one : *elements) {
    const auto token = one.integer();
    if (!token || *token < 0 || *token >= site.text->model().tokenizer().n_vocab()) {
      return refuse("invalid_value", "tokens", "tokens: {} is no token of this model", one.line());
    }
    tokens.push_back(static_cast<Token>(*token));
  }
  return tokens;
}

Json pieces_json(const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  Json list = Json::array();
  for (const Token token : tokens) {
    list.push(Json::object({{"id", token}, {"piece", tokenizer.piece(token, /*with_special=*/true)}}));
  }
  return list;
}

}  // namespace

ApiResult<void> list_models(Site& site, Call& call) {
  Json data = Json::array();
  for (const ModelOffer& offer : site.offers) data.push(model_json(site, offer));
  answer(call, Json::object({{"object", "list"}, {"data", data}}));
  return {};
}

ApiResult<void> show_model(Site& site, Call& call) {
  const std::string& id = call.path_values.front();
  const auto offer =
      std::find_if(site.offers.begin(), site.offers.end(), [&](const ModelOffer& o) { return o.id == id; });
  if (offer == site.offers.end()) {
    return tl::unexpected(ApiError{.status = 404,
                                   .code = "model_not_found",
                                   .message = "there is no such model; GET /v1/models lists what there is",
                                   .param = "model"});
  }
  answer(call, model_json(site, *offer));
  return {};
}

ApiResult<void> list_voices(Site& site, Call& call) {
  Json names = Json::array(), data = Json::array();
  for (const std::string& voice : offered_voices(site)) {
    names.push(voice);
    data.push(Json::object({{"id", voice}, {"name", voice}}));
  }
  answer(call, Json::object({{"object", "list"}, {"voices", names}, {"data", data}}));
  return {};
}

ApiResult<void> show_props(Site& site, Call& call) {
  const TextModel& model = site.text->model();
  const std::string source(model.tokenizer().chat_template().value_or(""));
  const SamplingOptions& s = site.options.defaults.sampling;
  const bool knows_tools = source.find("tools") != std::string::npos;
  const bool thinks = source.find("enable_thinking") != std::string::npos;
  const bool hears = std::any_of(site.offers.begin(), site.offers.end(),
                                 [](const ModelOffer& o) { return o.kind == ModelKind::asr; });
  const Json params = Json::object({{"temperature", static_cast<double>(s.temperature)},
                                    {"top_k", s.top_k},
                                    {"top_p", static_cast<double>(s.top_p)},
                                    {"min_p", static_cast<double>(s.min_p)},
                                    {"max_tokens", site.options.n_most_tokens}});
  answer(call,
         Json::object({{"default_generation_settings",
                        Json::object({{"n_ctx", site.text->context()->options().n_ctx}, {"params", params}})},
                       {"total_slots", site.options.models.context.n_seq},
                       {"model_alias", site.offers.front().id},
                       {"chat_template", source},
                       {"chat_template_caps",
                        Json::object({{"tools", knows_tools}, {"thinking", thinks}, {"system", true}})},
                       {"modalities", Json::object({{"vision", false}, {"audio", hears}})},
                       {"build_info", "parlance " + site.version}}));
  return {};
}

ApiResult<void> show_metrics(Site& site, Call& call) {
  update_figures(site);
  call.reply->send({.fields = {{"content-type", "text/plain; version=0.0.4; charset=utf-8"}},
                    .body = site.metrics.text()});
  return {};
}

ApiResult<void> tokenize(Site& site, Call& call) {
  PARLANCE_API_TRY(const Json json, parse_body(call.request.body));
  const Body body(json);
  const auto text = body.text("content");
  if (!text) return refuse("invalid_type", "content", "content must be a string");
  const Tokenizer& tokenizer = site.text->model().tokenizer();
  const std::vector<Token> tokens = tokenizer.encode(
      *text,
      {.add_special = body.boolean("add_special"), .parse_special = body.boolean("parse_special", true)});
  Json list = Json::array();
  for (const Token token : tokens) list.push(token);
  answer(call,
         Json::object({{"tokens", body.boolean("with_pieces") ? pieces_json(tokenizer, tokens) : list}}));
  return {};
}

ApiResult<void> detokenize(Site& site, Call& call) {
  PARLANCE_API_TRY(const Json json, parse_body(call.request.body));
  PARLANCE_API_TRY(const auto tokens, read_tokens(site, Body(json)));
  answer(call,
         Json::object({{"content", site.text->model().tokenizer().decode(tokens, /*with_special=*/true)}}));
  return {};
}

ApiResult<void> apply_template(Site& site, Call& call) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, chat_fields()));
  PARLANCE_API_TRY(const ChatRequest chat, read_chat(site, checked.body));
  PARLANCE_API_TRY(const std::string text, chat_text(site, chat));
  answer(call, Json::object({{"prompt", text}}));
  return {};
}

}  // namespace parlance
