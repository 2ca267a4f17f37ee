#include "server/site_service.h"

#include <algorithm>

#include "base/ascii.h"
#include "server/forwarded.h"
#include "server/handshake.h"
#include "server/http_text.h"
#include "server/page.h"

namespace parlance {

using Clock = std::chrono::steady_clock;

namespace {

std::string media_type(std::string_view value) {
  return ascii::lower(next_of(value, ';'));
}

bool wants_body(const Route& route) {
  return route.body != BodyKind::none;
}

// What a body is sent as, which is refused before it comes.
std::optional<ApiError> check_media(const HttpRequest& head, const Route& route) {
  const std::string_view expectation = head.field("expect");
  if (!expectation.empty() && !ascii::are_equal(expectation, "100-continue")) {
    return ApiError{
        .status = 417, .code = "expectation_failed", .message = "the only expectation is 100-continue"};
  }
  if (!wants_body(route)) return std::nullopt;
  const std::string_view coding = head.field("content-encoding");
  if (!coding.empty() && !ascii::are_equal(coding, "identity")) {
    return ApiError{
        .status = 415, .code = "unsupported_media_type", .message = "send the body as it is, not compressed"};
  }
  const char* wanted = route.body == BodyKind::json ? "application/json" : "multipart/form-data";
  if (media_type(head.field("content-type")) == wanted) return std::nullopt;
  return ApiError{.status = 415,
                  .code = "unsupported_media_type",
                  .message = fmt::format("send the body with Content-Type: {}", wanted)};
}

}  // namespace

HttpService::Admission SiteService::admit(const HttpRequest& head) {
  auto match = find_route(head.method, head.path);
  const KeyNeed need = !match ? KeyNeed::any
                       : match->route->handler == show_metrics && site_.options.are_metrics_public
                           ? KeyNeed::none
                           : match->route->need;
  auto caller = pass_forwarded(head, need);
  if (match && match->route->open_socket) caller = with_client_secret(head, std::move(caller));
  if (!caller) {
    HttpAnswer answer = answer_of(caller.error());
    if (answer.status == 401) answer.delay = std::chrono::milliseconds(100);
    return {.refusal = std::move(answer)};
  }
  if (!match) return {.refusal = answer_of(match.error())};
  if (!site_.options.has_page && find_page_file(head.path)) {
    return {.refusal = answer_of(ApiError{.status = 404,
                                          .code = "not_found",
                                          .message = "there is no page here; start the server without "
                                                     "--no-web for it"})};
  }
  if (head.method == "OPTIONS") return {.refusal = preflight_answer(head)};
  if (const auto error = check_media(head, *match->route)) return {.refusal = answer_of(*error)};
  if (match->route->open_socket) return admit_socket(head, *match->route, *caller);
  // Whoever watches the server wants to see how it begins and how it ends.
  if (match->route->handler && match->route->handler != show_metrics) {
    if (const auto error = check_phase()) return {.refusal = answer_of(*error)};
  }
  const size_t n_most = match->route->body == BodyKind::multipart ? site_.options.n_upload_bytes + (1 << 20)
                                                                  : site_.options.n_json_bytes;
  return {.refusal = {}, .n_body_bytes = wants_body(*match->route) ? n_most : size_t{64} << 10};
}

void SiteService::serve(HttpRequest request, std::shared_ptr<Reply> reply) {
  auto match = find_route(request.method, request.path);
  const Route& route = *match->route;  // it was found before
  if (route.at_once) return reply->send(route.at_once(site_, request));
  auto call = std::make_shared<Call>(Call{.request = std::move(request),
                                          .reply = std::move(reply),
                                          .caller = nullptr,
                                          .route = std::string(route.pattern),
                                          .path_values = std::move(match->values)});
  if (const auto caller = pass_forwarded(call->request, route.need)) call->caller = *caller;
  if (call->caller) call->request.notes->add("key", call->caller->name);
  const bool is_posted = site_.prep.post([this, call, handler = route.handler] {
    if (call->reply->ticket().cancelled()) return;
    if (const auto done = handler(site_, *call); !done) send_error(*call, done.error());
  });
  if (!is_posted) {
    site_.metrics.add("requests_rejected_total", 1, {{"reason", "server_overloaded"}});
    send_error(*call, try_again(503, "server_overloaded", "too many requests wait; try again", 1));
  }
}

HttpAnswer SiteService::refuse(int status, const std::string& why) {
  const char* code = status == 408                                     ? "timeout"
                     : status == 413 || status == 414 || status == 431 ? "request_too_large"
                     : status == 503                                   ? "too_many_connections"
                                                                       : "bad_request";
  site_.metrics.add("http_refused_total", 1, {{"reason", std::to_string(status)}});
  site_.log.write_seldom(LogLevel::info, "refused",
                         {{"status", int64_t{status}}, {"code", std::string(code)}});
  if (status == 503) return answer_of(try_again(status, code, why, 1));
  ApiError error{.status = status, .code = code, .message = why};
  if (status == 413) error.fields.push_back({"x-should-retry", "false"});
  return answer_of(error);
}

void SiteService::complete(const HttpRequest& request, HttpAnswer& answer) {
  if (answer.status >= 400 && request.path.starts_with("/api/")) answer = in_ollamas_form(std::move(answer));
  answer.fields.push_back({"x-request-id", request.id});
  answer.fields.push_back({"x-content-type-options", "nosniff"});
  const bool says_itself = std::any_of(answer.fields.begin(), answer.fields.end(),
                                       [](const HttpField& f) { return f.name == "cache-control"; });
  if (!says_itself) answer.fields.push_back({"cache-control", "no-store"});
  if (request.began != Clock::time_point()) {
    answer.fields.push_back(
        {"openai-processing-ms",
         fmt::format(
             "{}",
             std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - request.began).count())});
  }
  for (HttpField& field : cors_fields(site_.gate(), request)) answer.fields.push_back(std::move(field));
}

void SiteService::note(const HttpRequest& request, int status, bool was_cut) {
  const auto match = find_route(request.method, request.path);
  const std::string_view route = match ? match->route->pattern : "other";
  const std::string_view method = match ? match->route->method : "other";
  site_.metrics.add("http_requests_total", 1,
                    {{"route", route}, {"method", method}, {"status", std::to_string(status)}});
  const double seconds = std::chrono::duration<double>(Clock::now() - request.began).count();
  if (request.began != Clock::time_point()) {
    site_.metrics.observe("http_request_seconds", seconds, {{"route", route}});
  }
  LogFields fields = {{"id", request.id},
                      {"route", std::string(route)},
                      {"method", std::string(method)},
                      {"status", int64_t{status}}};
  if (request.notes) {
    for (auto& field : request.notes->fields()) fields.push_back(std::move(field));
  }
  fields.emplace_back("total_ms", 1000 * seconds);
  const auto& proxies = site_.gate().proxies;
  fields.emplace_back(
      "remote", proxies.empty() ? request.remote_address : as_forwarded(request, proxies).remote_address);
  if (was_cut) fields.emplace_back("cut", true);
  // Those who look whether the server is well do so every second, and leave as they like.
  const bool is_check = match && match->route->at_once && !find_page_file(request.path);
  site_.log.write(is_check ? LogLevel::debug : LogLevel::info, "request", fields);
}

HttpService::Admission SiteService::admit_socket(const HttpRequest& head, const Route& route, Caller caller) {
  if (const auto error = check_handshake(head)) return {.refusal = answer_of(*error)};
  if (const auto error = check_phase()) return {.refusal = answer_of(*error)};
  auto opening = route.open_socket(site_, head, caller);
  if (!opening) return {.refusal = answer_of(opening.error())};
  return {.refusal = {}, .talker = std::move(opening->talker), .protocol = std::move(opening->protocol)};
}

// Who has no key but a secret may open what the secret's maker may.
ApiResult<Caller> SiteService::with_client_secret(const HttpRequest& head, ApiResult<Caller> caller) const {
  if (caller || caller.error().status != 401) return caller;
  const auto secret = site_.client_secrets.find(given_key(head));
  if (!secret) return caller;
  for (const ApiKey& key : site_.gate().keys) {
    if (key.name == secret->owner) return &key;
  }
  return caller;
}

ApiResult<Caller> SiteService::pass_forwarded(const HttpRequest& request, KeyNeed need) const {
  const GateRules& rules = site_.gate();
  if (rules.proxies.empty()) return pass(rules, request, need);
  HttpRequest head = request;
  head.body.clear();
  return pass(rules, as_forwarded(std::move(head), rules.proxies), need);
}

std::optional<ApiError> SiteService::check_phase() const {
  const ServerPhase phase = site_.phase;
  if (phase == ServerPhase::loading) return try_again(503, "loading", "the models are being loaded", 1);
  if (phase == ServerPhase::draining) {
    site_.metrics.add("requests_rejected_total", 1, {{"reason", "server_shutting_down"}});
    return try_again(503, "server_shutting_down", "this server is about to end; ask another one", 1);
  }
  return std::nullopt;
}

}  // namespace parlance
