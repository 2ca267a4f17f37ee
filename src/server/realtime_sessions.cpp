// POST /v1/realtime/client_secrets, and what it was called first: /v1/realtime/sessions and
// /v1/realtime/transcription_sessions.
#include "base/random_id.h"
#include "server/realtime_offer.h"

namespace parlance {

namespace {

constexpr std::chrono::seconds kUsualLife{600};

// A session as a client asks for it.
struct WantedSession {
  Json session;
  SessionKind kind = SessionKind::conversation;
  Dialect dialect = Dialect::ga;
  std::chrono::seconds life = kUsualLife;  // of its secret
};

struct MadeSession {
  Json shown;  // as it will say of itself
  std::string secret;
  int64_t expires_unix_s;
};

// Errors: settings that cannot be; too many secrets.
ApiResult<MadeSession> make_session(Site& site, const Call& call, const WantedSession& wanted) {
  const SessionOffer offer = realtime_offer(site);
  const auto settings =
      changed_settings(first_settings(offer, wanted.kind), wanted.session, offer, wanted.dialect);
  if (!settings) return tl::unexpected(api_error(settings.error()));
  const auto expires_at =
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now() + wanted.life);
  auto secret = site.client_secrets.add({.owner = call.caller ? call.caller->name : "",
                                         .session = wanted.session,
                                         .dialect = wanted.dialect,
                                         .kind = wanted.kind,
                                         .expires_at = expires_at});
  if (!secret) {
    return tl::unexpected(
        try_again(503, "server_overloaded",
                  fmt::format("there are {} client secrets that have not expired; ask for shorter ones",
                              ClientSecrets::kMost),
                  static_cast<double>(site.client_secrets.time_until_room().count())));
  }
  return MadeSession{
      .shown = shown_settings(*settings, offer, wanted.dialect, random_id("sess_")),
      .secret = *std::move(secret),
      .expires_unix_s =
          std::chrono::duration_cast<std::chrono::seconds>(expires_at.time_since_epoch()).count()};
}

ApiResult<void> create_beta_session(Site& site, Call& call, SessionKind kind) {
  PARLANCE_API_TRY(const Json session, parse_body(call.request.body.empty() ? "{}" : call.request.body));
  PARLANCE_API_TRY(MadeSession made,
                   make_session(site, call, {.session = session, .kind = kind, .dialect = Dialect::beta}));
  made.shown.set("client_secret",
                 Json::object({{"value", made.secret}, {"expires_at", made.expires_unix_s}}));
  call.reply->send(json_answer(made.shown));
  return {};
}

}  // namespace

ApiResult<void> create_client_secret(Site& site, Call& call) {
  PARLANCE_API_TRY(const Json json, parse_body(call.request.body));
  PARLANCE_API_TRY(const CheckedBody checked,
                   check_fields(client_secret_fields(), json, {.is_strict = site.options.is_strict}));
  const Json* given = checked.body.find("session");
  WantedSession wanted{.session = given ? *given : Json::object({{"type", "realtime"}})};
  const auto type = wanted.session.member("type");
  if (type && type->text() == "transcription") wanted.kind = SessionKind::transcription;
  if (const auto seconds = checked.body.object("expires_after").integer("seconds")) {
    wanted.life = std::chrono::seconds(*seconds);
  }
  PARLANCE_API_TRY(MadeSession made, make_session(site, call, wanted));
  made.shown.set("object", "realtime.session");
  HttpAnswer answer = json_answer(
      Json::object({{"value", made.secret}, {"expires_at", made.expires_unix_s}, {"session", made.shown}}));
  if (const std::string ignored = ignored_text(checked.ignored); !ignored.empty()) {
    answer.fields.push_back({"x-parlance-ignored", ignored});
  }
  call.reply->send(std::move(answer));
  return {};
}

ApiResult<void> create_realtime_session(Site& site, Call& call) {
  return create_beta_session(site, call, SessionKind::conversation);
}

ApiResult<void> create_transcription_session(Site& site, Call& call) {
  return create_beta_session(site, call, SessionKind::transcription);
}

}  // namespace parlance
