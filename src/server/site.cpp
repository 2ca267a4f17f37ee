#include "server/site.h"

#include <algorithm>

#include "server/build_info.h"

namespace parlance {

namespace {

constexpr size_t kMostPrepared = 256;  // requests that wait to be read
constexpr std::chrono::seconds kLongestSilence{10};

}  // namespace

std::string_view name_of(ModelKind kind) {
  switch (kind) {
    case ModelKind::text:
      return "text";
    case ModelKind::asr:
      return "asr";
    case ModelKind::tts:
      return "tts";
    case ModelKind::embedding:
      return "embedding";
  }
  return "";
}

std::optional<KeyLimits> limits_of_key(const ServerOptions& options) {
  if (options.gate.keys.size() < 2) return std::nullopt;
  constexpr int kUsuallyWaiting = 16;
  return KeyLimits{.n_running = options.n_key_running.value_or(options.models.context.n_seq),
                   .n_waiting = options.n_key_waiting.value_or(kUsuallyWaiting)};
}

Site::Site(ServerOptions given)
    : options(std::move(given)),
      regions(options.models),
      log(options.log_format, options.log_level),
      key_shares(limits_of_key(options)),
      version(program_version()),
      prep("prepare", options.n_preparing, kMostPrepared),
      // Each answer posts once at a time, so that there are no more jobs than answers.
      answers("answers", 1, SIZE_MAX),
      sound("sound", 2, kMostPrepared) {
  replace_gate(options.gate);
}

void Site::replace_gate(GateRules rules) {
  auto kept = std::make_unique<const GateRules>(std::move(rules));
  const std::lock_guard lock(mutex_);
  gate_ = kept.get();
  gates_.push_back(std::move(kept));
}

void Site::enter(const std::shared_ptr<LiveAnswer>& answer) {
  const std::lock_guard lock(mutex_);
  std::erase_if(live_, [](const auto& weak) { return weak.expired(); });
  live_.push_back(answer);
}

void Site::tick_all() {
  std::vector<std::weak_ptr<LiveAnswer>> all;
  {
    const std::lock_guard lock(mutex_);
    all = live_;
  }
  for (const auto& weak : all) {
    if (const auto one = weak.lock()) one->tick();
  }
}

void Site::cut_all() {
  std::vector<std::weak_ptr<LiveAnswer>> all;
  {
    const std::lock_guard lock(mutex_);
    all = live_;
  }
  for (const auto& weak : all) {
    if (const auto one = weak.lock()) one->cut();
  }
}

std::string owner_of(const Site& site, const Call& call) {
  return call.caller && site.gate().keys.size() > 1 ? call.caller->name : std::string();
}

ApiResult<std::string> find_offer(const Site& site, const std::optional<std::string>& name, ModelKind kind) {
  const auto own = std::find_if(site.offers.begin(), site.offers.end(),
                                [&](const ModelOffer& o) { return o.kind == kind; });
  const bool is_default = !name || name->empty() || *name == "default";
  std::string listed;
  for (const ModelOffer& offer : site.offers) listed += (listed.empty() ? "" : ", ") + offer.id;
  if (own == site.offers.end()) {
    return tl::unexpected(
        ApiError{.status = 404,
                 .code = "model_not_found",
                 .message = fmt::format("there is no {} model here; there is {}", name_of(kind), listed),
                 .param = "model"});
  }
  if (is_default || *name == own->id || site.options.takes_any_model) return own->id;
  for (const ModelAlias& alias : site.options.aliases) {
    if (alias.name == *name && alias.kind == kind) return own->id;
  }
  const auto other = std::find_if(site.offers.begin(), site.offers.end(),
                                  [&](const ModelOffer& o) { return o.id == *name; });
  if (other != site.offers.end()) {
    return refuse("invalid_value", "model",
                  "{} is a model of kind {}, and this takes one of kind {}; there is {}", Json(*name).line(),
                  name_of(other->kind), name_of(kind), listed);
  }
  return tl::unexpected(
      ApiError{.status = 404,
               .code = "model_not_found",
               .message = fmt::format("there is no model {}; there is {}", Json(*name).line(), listed),
               .param = "model"});
}

void note_cancelled(Site& site, const Reply& reply, std::string_view stage) {
  const auto left_at = reply.left_at();
  if (!left_at) return;
  const auto time = std::chrono::steady_clock::now() - *left_at;
  site.metrics.observe("cancel_seconds", std::chrono::duration<double>(time).count(), {{"stage", stage}});
}

void log_content(Site& site, const std::string& request_id, std::string_view what, const std::string& text) {
  if (!site.options.logs_content || text.empty()) return;
  LogFields fields = {{"what", std::string(what)}, {"text", text}};
  if (!request_id.empty()) fields.insert(fields.begin(), {"id", request_id});
  site.log.write(LogLevel::info, "content", fields);
}

void send_error(const Call& call, const ApiError& error) {
  call.reply->send(answer_of(error));
}

HttpAnswer health_answer(const Site& site, const HttpRequest&) {
  switch (site.phase.load()) {
    case ServerPhase::loading:
      return json_answer(
          Json::object(
              {{"error",
                Json::object({{"code", 503}, {"message", "Loading model"}, {"type", "unavailable_error"}})}}),
          503);
    case ServerPhase::draining:
      return json_answer(Json::object({{"status", "draining"}}), 503);
    case ServerPhase::serving:
      break;
  }
  return json_answer(Json::object({{"status", "ok"}}));
}

bool is_alive(const Site& site) {
  const Listener* const listener = site.listener;
  return (!listener || listener->longest_silence() < kLongestSilence) &&
         site.pulse.silence() < kLongestSilence;
}

HttpAnswer live_answer(const Site& site, const HttpRequest&) {
  if (is_alive(site)) return json_answer(Json::object({{"status", "ok"}}));
  return json_answer(Json::object({{"status", "stuck"}}), 503);
}

HttpAnswer ready_answer(const Site& site, const HttpRequest&) {
  const ServerPhase phase = site.phase;
  const int64_t n_waiting_most = site.options.models.context.n_waiting;
  const int64_t n_slots = site.options.models.context.n_seq;
  // Those in the background take nobody's place.
  int64_t n_running = 0, n_queued = 0, n_in_the_way = 0;
  double usage = 0;
  if (site.is_loaded) {
    const auto queues = site.text->context()->scheduler().stats().queues;
    for (size_t i = 0; i < queues.size(); ++i) {
      n_running += queues[i].n_running;
      n_queued += queues[i].n_waiting;
      if (i <= static_cast<size_t>(Priority::interactive))
        n_in_the_way += queues[i].n_running + queues[i].n_waiting;
    }
    auto& pools = site.text->context()->pools();
    const int32_t n_pages = pools[PageKind::main].n_pages();
    if (n_pages > 0) usage = 1 - static_cast<double>(pools.n_free().main) / n_pages;
  }
  const bool is_ready = phase == ServerPhase::serving && n_in_the_way < n_slots + n_waiting_most;
  return json_answer(Json::object({{"status", is_ready                         ? "ready"
                                              : phase == ServerPhase::loading  ? "loading"
                                              : phase == ServerPhase::draining ? "draining"
                                                                               : "full"},
                                   {"running", n_running},
                                   {"queued", n_queued},
                                   {"parallel", n_slots},
                                   {"realtime_sessions", site.n_realtime.load()},
                                   {"kv_usage", usage}}),
                     is_ready ? 200 : 503);
}

}  // namespace parlance
