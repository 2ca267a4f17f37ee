#include "server/server.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <thread>

#include "asr/languages.h"
#include "assistant/default_model.h"
#include "assistant/model_files.h"
#include "assistant/wording.h"
#include "base/ascii.h"
#include "base/log.h"
#include "base/os/environment.h"
#include "base/os/folder.h"
#include "bundle/bundle.h"
#include "bundle/sha256.h"
#include "realtime/model_parts.h"
#include "server/chat_tools.h"
#include "server/forwarded.h"
#include "server/handshake.h"
#include "server/http_text.h"
#include "server/page.h"
#include "server/prewarm.h"
#include "server/router.h"
#include "server/voices.h"
#include "wyoming/services.h"

namespace parlance {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kMostNameBytes = 64;
constexpr std::chrono::milliseconds kTick{1000};
constexpr std::chrono::milliseconds kSavingTime{10000};  // of conversations, at the end

std::string plain_name(std::string name) {
  for (char& c : name) {
    if (!ascii::is_letter(c) && !ascii::is_digit(c) && c != '.' && c != '_' && c != '-') c = '-';
  }
  name.resize(std::min(name.size(), kMostNameBytes - std::string_view("-embedding").size()));
  return name.empty() ? "model" : name;
}

// What the models are called where nobody says: as their bundle, else as the file.
std::string name_of_models(const ModelFiles& files, const fs::path& text_file) {
  const fs::path folder =
      files.folder.empty() && files.text.empty() ? find_demo_bundle() : fs::path(files.folder);
  if (is_folder(folder)) {
    const auto bundle = open_bundle(folder, {});
    if (bundle && !bundle->id.empty()) return plain_name(bundle->id);
  }
  return plain_name(text_file.stem().string());
}

int64_t written_unix_s(const fs::path& file) {
  std::error_code error;
  const auto time = fs::last_write_time(file, error);
  if (error) return 0;
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::file_clock::to_sys(time).time_since_epoch())
      .count();
}

// Of program, weights and cache: who sees the same may expect the same.
std::string fingerprint_of(const Site& site) {
  const SnapshotIdentity identity = site.text->context()->snapshot_identity();
  std::string all = site.version + "\n" + identity.layout + "\n";
  for (const std::byte byte : identity.model) all += fmt::format("{:02x}", static_cast<int>(byte));
  return "fp_" + sha256(std::as_bytes(std::span(all))).substr(0, 12);
}

// Where conversations of this model and these formats are put away; empty: nowhere.
fs::path conversation_folder(const Site& site, const fs::path& text_file) {
  const ConversationRules& rules = site.options.conversations;
  if (!rules.slot_folder.empty()) return rules.slot_folder;
  if (rules.state_folder.empty()) return {};
  const SessionOptions& options = site.text->context()->options();
  const bool has_drafter = options.drafter || options.draft_model;
  const std::string name =
      folder_name({.model = absolute_path(text_file).string(),
                   .drafter = has_drafter ? site.options.models.files.drafter : "",
                   .k_format = std::string(name_of(options.cache.k.format)),
                   .v_format = std::string(name_of(options.cache.v.format)),
                   .extra = fmt::format("ctx={};parallel={};kv=default;drafter={}", options.n_ctx,
                                        options.n_seq, has_drafter ? "on" : "off")});
  return rules.state_folder / "local-inference" / "llama-cache" / name;
}

std::string media_type(std::string_view value) {
  return ascii::lower(next_of(value, ';'));
}

WyomingOffer wyoming_offer(const Site& site) {
  WyomingOffer offer;
  offer.voices = offered_voices(site);
  const auto preferred = std::ranges::find(offer.voices, site.options.voice);
  if (preferred != offer.voices.end()) std::rotate(offer.voices.begin(), preferred, preferred + 1);
  offer.languages = site.options.wyoming_languages;
  offer.version = site.version;
  for (const ModelOffer& model : site.offers) {
    if (model.kind == ModelKind::text) offer.text_model = model.id;
    if (model.kind == ModelKind::asr) offer.asr_model = model.id;
    if (model.kind == ModelKind::tts) offer.tts_model = model.id;
  }
  if (offer.languages.empty()) {
    for (const SpeechLanguage& language : speech_languages()) offer.languages.emplace_back(language.code);
  }
  return offer;
}

bool wants_body(const Route& route) {
  return route.body != BodyKind::none;
}

}  // namespace

// What the listener asks.
class Server::Service final : public HttpService {
 public:
  explicit Service(Site& site) : site_(site) {}

  Admission admit(const HttpRequest& head) override {
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

  void serve(HttpRequest request, std::shared_ptr<Reply> reply) override {
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

  HttpAnswer refuse(int status, const std::string& why) override {
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

  void complete(const HttpRequest& request, HttpAnswer& answer) override {
    if (answer.status >= 400 && request.path.starts_with("/api/"))
      answer = in_ollamas_form(std::move(answer));
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

  void note(const HttpRequest& request, int status, bool was_cut) override {
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

  bool is_draining() const override { return site_.phase == ServerPhase::draining; }

 private:
  Admission admit_socket(const HttpRequest& head, const Route& route, Caller caller) {
    if (const auto error = check_handshake(head)) return {.refusal = answer_of(*error)};
    if (const auto error = check_phase()) return {.refusal = answer_of(*error)};
    auto opening = route.open_socket(site_, head, caller);
    if (!opening) return {.refusal = answer_of(opening.error())};
    return {.refusal = {}, .talker = std::move(opening->talker), .protocol = std::move(opening->protocol)};
  }

  // Who has no key but a secret may open what the secret's maker may.
  ApiResult<Caller> with_client_secret(const HttpRequest& head, ApiResult<Caller> caller) const {
    if (caller || caller.error().status != 401) return caller;
    const auto secret = site_.client_secrets.find(given_key(head));
    if (!secret) return caller;
    for (const ApiKey& key : site_.gate().keys) {
      if (key.name == secret->owner) return &key;
    }
    return caller;
  }

  static std::optional<ApiError> check_media(const HttpRequest& head, const Route& route) {
    const std::string_view expectation = head.field("expect");
    if (!expectation.empty() && !ascii::are_equal(expectation, "100-continue")) {
      return ApiError{
          .status = 417, .code = "expectation_failed", .message = "the only expectation is 100-continue"};
    }
    if (!wants_body(route)) return std::nullopt;
    const std::string_view coding = head.field("content-encoding");
    if (!coding.empty() && !ascii::are_equal(coding, "identity")) {
      return ApiError{.status = 415,
                      .code = "unsupported_media_type",
                      .message = "send the body as it is, not compressed"};
    }
    const char* wanted = route.body == BodyKind::json ? "application/json" : "multipart/form-data";
    if (media_type(head.field("content-type")) == wanted) return std::nullopt;
    return ApiError{.status = 415,
                    .code = "unsupported_media_type",
                    .message = fmt::format("send the body with Content-Type: {}", wanted)};
  }

  ApiResult<Caller> pass_forwarded(const HttpRequest& request, KeyNeed need) const {
    const GateRules& rules = site_.gate();
    if (rules.proxies.empty()) return pass(rules, request, need);
    HttpRequest head = request;
    head.body.clear();
    return pass(rules, as_forwarded(std::move(head), rules.proxies), need);
  }

  std::optional<ApiError> check_phase() const {
    const ServerPhase phase = site_.phase;
    if (phase == ServerPhase::loading) return try_again(503, "loading", "the models are being loaded", 1);
    if (phase == ServerPhase::draining) {
      site_.metrics.add("requests_rejected_total", 1, {{"reason", "server_shutting_down"}});
      return try_again(503, "server_shutting_down", "this server is about to end; ask another one", 1);
    }
    return std::nullopt;
  }

  Site& site_;
};

// What goes on beside the requests: loading, and a clock.
struct Server::Loading {
  std::mutex mutex;
  std::condition_variable news;
  std::optional<Result<void>> loaded;  // once it is decided
  bool is_over = false;
  WyomingServices wyoming_services;
  std::unique_ptr<WyomingDoor> wyoming;  // opens last
  std::thread loader, clock;

  static Result<void> load(Site& site) {
    PARLANCE_TRY(site.text, site.regions.text.acquire());
    const ModelFiles& files = site.options.models.files;
    PARLANCE_TRY(const fs::path text_file, find_text_file(files));
    const std::string base = site.options.name.empty() ? name_of_models(files, text_file) : site.options.name;
    site.offers = {{base, ModelKind::text}};
    if (find_asr_files(files)) site.offers.push_back({base + "-asr", ModelKind::asr});
    if (find_tts_files(files)) site.offers.push_back({base + "-tts", ModelKind::tts});
    if (find_embedding_file(files)) site.offers.push_back({base + "-embedding", ModelKind::embedding});
    site.created_unix_s = written_unix_s(text_file);
    site.fingerprint = fingerprint_of(site);
    site.tool_family = tool_family_of(site.text->model());
    site.metrics.set("build_info", 1,
                     {{"version", site.version}, {"model", base}, {"device", site.text->device().name()}});
    Scheduler& scheduler = site.text->context()->scheduler();
    scheduler.watch([&site, n_steps = 0.0, n_sequences = 0.0](const StepReport& step) mutable {
      site.metrics.observe("step_seconds", step.ms / 1000, {{"kind", "text"}});
      site.metrics.observe("batch_rows", static_cast<double>(step.n_rows));
      site.metrics.add("llamacpp:n_decode_total");
      n_sequences += static_cast<double>(step.n_sequences);
      site.metrics.set("llamacpp:n_busy_slots_per_decode", n_sequences / ++n_steps);
    });
    scheduler.start();
    site.conversations = std::make_unique<Conversations>(
        site.text->context(), conversation_folder(site, text_file), site.options.conversations, site.metrics);
    return {};
  }

  // Listens for the Wyoming protocol too, where that is wanted.
  Result<void> open_wyoming(Site& site) {
    if (!site.options.wyoming) return {};
    WyomingSetup setup{
        .offer = wyoming_offer(site),
        .system = site.options.wyoming_system.empty() ? site.options.system : site.options.wyoming_system,
        .generate = site.options.defaults};
    const std::lock_guard lock(mutex);
    wyoming_services = ::parlance::wyoming_services(site.regions, std::move(setup));
    PARLANCE_TRY(wyoming,
                 WyomingDoor::open(*site.options.wyoming, wyoming_services, [&site](std::string_view type) {
                   site.metrics.add("wyoming_events_total", 1, {{"type", type}});
                 }));
    site.wyoming = wyoming.get();
    return {};
  }

  static void make_mouth_ready(Site& site) {
    const auto mouth = site.regions.tts.acquire();
    if (!mouth) return;
    const auto known = remember_phrases(*mouth, site.options.voice);
    if (!known && known.error().code != ErrorCode::not_found)
      log_warning("phrases of the voice {}: {}", site.options.voice, known.error().message);
  }

  void run_loader(Site& site) {
    auto result = load(site);
    if (result) result = open_wyoming(site);
    if (result) {
      site.is_loaded = true;
      ServerPhase expected = ServerPhase::loading;
      site.phase.compare_exchange_strong(expected, ServerPhase::serving);
      warm_system_prefix(site);
    }
    {
      const std::lock_guard lock(mutex);
      loaded = std::move(result);
    }
    news.notify_all();
    // What hears and speaks is made ready while nobody waits for it. Who asks meanwhile waits with it, and is
    // told what is wrong.
    if (*loaded) {
      for (const ModelOffer& offer : site.offers) {
        if (offer.kind == ModelKind::asr) (void)site.regions.asr.acquire();
        if (offer.kind == ModelKind::tts) make_mouth_ready(site);
        if (offer.kind == ModelKind::embedding) (void)site.regions.embedding.acquire();
      }
    }
  }

  void run_clock(Site& site) {
    std::unique_lock lock(mutex);
    while (!news.wait_for(lock, kTick, [&] { return is_over; })) {
      lock.unlock();
      site.tick_all();
      if (site.is_loaded) {
        site.conversations->tick(Clock::now(),
                                 [&site](const Conversations::Open& one) { warm_again(site, one); });
      }
      lock.lock();
    }
  }
};

Server::Server() = default;

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  if (!is_loopback_address(options.listener.host) && options.gate.keys.empty() && !options.is_open) {
    return fail(
        ErrorCode::invalid_argument,
        "whoever reaches {} could use this server; give --api-key-file, or --no-auth if everybody may",
        options.listener.host);
  }
  options.gate.bound_address = options.listener.host;
  options.models.synthesizer.n_phrases = kKeptPhrases;
  for (const std::string& origin : options.gate.cors_origins) PARLANCE_CHECK(check_origin(origin));
  std::unique_ptr<Server> server(new Server);
  server->site_ = std::make_unique<Site>(std::move(options));
  server->service_ = std::make_unique<Service>(*server->site_);
  PARLANCE_TRY(server->listener_, Listener::open(server->site_->options.listener, *server->service_));
  server->site_->listener = server->listener_.get();
  server->loading_ = std::make_unique<Loading>();
  Loading& loading = *server->loading_;
  loading.loader = std::thread([&loading, &site = *server->site_] { loading.run_loader(site); });
  loading.clock = std::thread([&loading, &site = *server->site_] { loading.run_clock(site); });
  return server;
}

Server::~Server() {
  drain();
  if (loading_) {
    {
      const std::lock_guard lock(loading_->mutex);
      loading_->is_over = true;
    }
    loading_->news.notify_all();
    loading_->loader.join();
    loading_->clock.join();
  }
  if (site_) site_->cut_all();
  if (site_) site_->listener = nullptr;
  if (site_) site_->wyoming = nullptr;
  if (loading_) loading_->wyoming.reset();
  listener_.reset();  // all clients have left now, and what was made for them ends
  if (!site_) return;
  site_->prep.stop();
  site_->sound.stop();
  while (site_->n_running > 0 || site_->n_embedding > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  site_->answers.stop();
  site_->conversations.reset();  // when nobody uses them any more
}

uint16_t Server::wyoming_port() const {
  const WyomingDoor* const door = site_->wyoming;
  return door ? door->port() : 0;
}

// Connections that something is being done for.
int64_t Server::n_at_work() const {
  const WyomingDoor* const door = site_->wyoming;
  return listener_->counts().n_active + (door ? door->n_at_work() : 0);
}

uint16_t Server::port() const {
  return listener_->port();
}

Result<void> Server::wait_until_ready() {
  std::unique_lock lock(loading_->mutex);
  loading_->news.wait(lock, [&] { return loading_->loaded.has_value(); });
  return *loading_->loaded;
}

void Server::drain() {
  if (site_) site_->phase = ServerPhase::draining;
  if (listener_) listener_->drain_sockets();
  if (!loading_) return;
  const std::lock_guard lock(loading_->mutex);
  if (loading_->wyoming) loading_->wyoming->drain();
}

bool Server::finish(std::chrono::milliseconds grace) {
  const bool is_whole = finish_answers(grace);
  if (site_->phase == ServerPhase::draining && site_->is_loaded)
    (void)site_->conversations->save_all(kSavingTime);
  return is_whole;
}

bool Server::finish_answers(std::chrono::milliseconds grace) {
  const auto end = Clock::now() + grace;
  while (n_at_work() > 0 && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (n_at_work() == 0) return true;
  site_->cut_all();
  listener_->close_sockets(SocketCode::going_away, "the server ends");
  // What has been cut is told so; that takes no longer than a step.
  const auto late = Clock::now() + std::chrono::seconds(2);
  while (n_at_work() > 0 && Clock::now() < late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace parlance
