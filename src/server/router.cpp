#include "server/router.h"

#include <algorithm>
#include <array>

#include "server/http_text.h"
#include "server/page.h"

namespace parlance {

namespace {

constexpr Route at_once(std::string_view pattern,
                        HttpAnswer (*answer)(const Site& site, const HttpRequest& request)) {
  return {.method = "GET", .pattern = pattern, .need = KeyNeed::none, .at_once = answer};
}
HttpAnswer show_page(const Site&, const HttpRequest& request) {
  return page_answer(request);
}
constexpr Route page(std::string_view path) {
  return at_once(path, show_page);
}
constexpr Route get(std::string_view pattern, Handler handler) {
  return {.method = "GET", .pattern = pattern, .handler = handler};
}
constexpr Route post(std::string_view pattern, Handler handler, BodyKind body = BodyKind::json,
                     KeyNeed need = KeyNeed::any) {
  return {.method = "POST", .pattern = pattern, .need = need, .body = body, .handler = handler};
}
constexpr Route remove(std::string_view pattern, Handler handler) {
  return {.method = "DELETE", .pattern = pattern, .handler = handler};
}

constexpr std::array kRoutes = {
    page("/"),
    page("/app.js"),
    page("/audio-worklet.js"),
    page("/style.css"),
    page("/favicon.svg"),
    at_once("/health", health_answer),
    at_once("/v1/health", health_answer),
    at_once("/live", live_answer),
    at_once("/ready", ready_answer),
    get("/metrics", show_metrics),
    get("/v1/models", list_models),
    get("/v1/models/{id}", show_model),
    post("/v1/chat/completions", complete_chat),
    post("/v1/chat/completions/input_tokens", count_chat_tokens),
    post("/v1/completions", complete_text),
    post("/v1/embeddings", embed_texts),
    post("/v1/responses", create_response),
    post("/v1/responses/input_tokens", count_response_tokens),
    get("/v1/responses/{id}", show_response),
    remove("/v1/responses/{id}", delete_response),
    post("/v1/audio/speech", speak),
    post("/v1/audio/transcriptions", transcribe, BodyKind::multipart),
    get("/v1/audio/voices", list_voices),
    post("/v1/realtime/client_secrets", create_client_secret),
    post("/v1/realtime/sessions", create_realtime_session),
    post("/v1/realtime/transcription_sessions", create_transcription_session),
    Route{.method = "GET", .pattern = "/v1/realtime", .open_socket = open_realtime},
    post("/v1/parlance/prewarm", prewarm),
    get("/v1/parlance/conversations", list_conversations),
    get("/v1/parlance/conversations/{id}", show_conversation),
    remove("/v1/parlance/conversations/{id}", close_conversation),
    post("/v1/parlance/conversations/{id}/save", save_conversation, BodyKind::none),
    post("/v1/parlance/conversations/{id}/restore", restore_conversation, BodyKind::none),
    get("/props", show_props),
    get("/slots", list_slots),
    post("/slots/{id}", change_slot, BodyKind::json, KeyNeed::admin),
    post("/tokenize", tokenize),
    post("/detokenize", detokenize),
    post("/apply-template", apply_template),
    get("/api/version", ollama_version),
    get("/api/tags", ollama_models),
    get("/api/ps", ollama_running),
    post("/api/show", ollama_show),
    post("/api/chat", ollama_chat),
    post("/api/generate", ollama_generate),
};

// What other servers have under the path, and what to do instead.
struct NotOffered {
  std::string_view path;  // all that begins so, where it ends in *
  const char* remedy;
};

constexpr std::array kNotOffered = {
    NotOffered{"/completion", "use /v1/completions"},
    NotOffered{"/completions", "use /v1/completions"},
    NotOffered{"/infill", "use /v1/completions"},
    NotOffered{"/embedding", "use /v1/embeddings"},
    NotOffered{"/rerank*", "there is no such model here"},
    NotOffered{"/v1/rerank*", "there is no such model here"},
    NotOffered{"/v1/messages*", "use /v1/chat/completions"},
    NotOffered{"/v1/responses/*", "use POST /v1/responses"},
    NotOffered{"/v1/audio/translations", "use /v1/audio/transcriptions; the recogniser does not translate"},
    NotOffered{"/v1/realtime*", "open a WebSocket at /v1/realtime"},
    NotOffered{"/v1/images/*", "there are no images here"},
    NotOffered{"/v1/files*", "send what a request needs with the request"},
    NotOffered{"/v1/moderations", "there is no moderation here"},
    NotOffered{"/lora-adapters", "give a model with its adapter merged to parlance serve"},
    NotOffered{"/api/embed*", "use /v1/embeddings"},
    NotOffered{"/api/*", "models are chosen when the server starts"},
};

std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  std::vector<std::string> values;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = next_of(pattern, '/'), given = next_of(path, '/');
    if (wanted.starts_with('{')) {
      if (given.empty()) return std::nullopt;
      values.emplace_back(given);
    } else if (wanted != given) {
      return std::nullopt;
    }
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return values;
}

ApiError not_found(std::string_view path) {
  for (const NotOffered& one : kNotOffered) {
    const bool is_it = one.path.ends_with('*') ? path.starts_with(one.path.substr(0, one.path.size() - 1))
                                               : path == one.path;
    if (is_it) {
      return {.status = 404,
              .code = "not_offered",
              .message = fmt::format("this server does not offer that; {}", one.remedy)};
    }
  }
  return {.status = 404,
          .code = "not_found",
          .message = "there is nothing under this path; 'parlance serve --routes' lists what there is"};
}

}  // namespace

std::span<const Route> all_routes() {
  return kRoutes;
}

ApiResult<RouteMatch> find_route(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  std::string allowed;
  for (const Route& route : kRoutes) {
    auto values = match(route.pattern, path);
    if (!values) continue;
    if (route.method == method || method == "OPTIONS") return RouteMatch{&route, *std::move(values)};
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  if (allowed.empty()) return tl::unexpected(not_found(path));
  return tl::unexpected(ApiError{.status = 405,
                                 .code = "method_not_allowed",
                                 .message = fmt::format("this path takes {} only", allowed),
                                 .param = {},
                                 .fields = {{"allow", allowed}}});
}

std::string routes_text() {
  std::string text;
  for (const Route& route : kRoutes) {
    const char* who = route.need == KeyNeed::none  ? "everybody"
                      : route.need == KeyNeed::any ? "a key, where keys are configured"
                                                   : "an administrator's key, where keys are configured";
    text += fmt::format("{:<6} {:<44} {}\n", route.method, route.pattern, who);
  }
  return text;
}

}  // namespace parlance
