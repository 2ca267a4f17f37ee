// GET /v1/realtime: sessions over WebSockets. The listener's thread hands messages to the strand of a
// session, which is where everything else happens.
#include <atomic>
#include <mutex>
#include <utility>

#include "realtime/session.h"
#include "server/handshake.h"
#include "server/realtime_mind.h"
#include "server/realtime_offer.h"
#include "server/site.h"
#include "server/socket.h"

namespace parlance {

namespace {

constexpr int64_t kMuchWaiting = int64_t{4} << 20;      // bytes of messages: the client has to wait
constexpr std::chrono::milliseconds kKeepingTime{250};  // between two copies of a conversation

struct SessionRequest {
  Dialect dialect = Dialect::ga;
  SessionKind kind = SessionKind::conversation;
  std::string conversation_id;
  std::string owner;  // the name of the key
  Caller caller = nullptr;
  std::optional<Json> session;  // settings that came with a secret
};

// One session and its socket. It lives as long as either has something for the other.
class RealtimeTalker final : public SocketTalker,
                             public RealtimeSink,
                             public RealtimeObserver,
                             public std::enable_shared_from_this<RealtimeTalker> {
 public:
  RealtimeTalker(Site& site, SessionRequest request)
      : site_(site), request_(std::move(request)), strand_(site.strands.make()) {}
  ~RealtimeTalker() override { leave(); }

  // SocketTalker, on the listener's thread.
  void opened(std::shared_ptr<SocketReply> reply) override {
    reply_ = std::move(reply);
    const bool is_posted = site_.sound.post([self = shared_from_this()] { self->load(); });
    if (!is_posted) reply_->close(1013, "too much waits here; try again later");
  }
  void take_text(std::string message) override {
    note_waiting(std::ssize(message));
    strand_->post([self = shared_from_this(), message = std::move(message)] { self->take(message, false); });
  }
  void take_binary(std::string message) override {
    note_waiting(std::ssize(message));
    strand_->post([self = shared_from_this(), message = std::move(message)] { self->take(message, true); });
  }
  void drain() override {
    strand_->post([self = shared_from_this()] {
      self->is_draining_ = true;
      if (self->session_) self->session_->drain();
      self->look_again();
    });
  }
  void closed(uint16_t code) override {
    strand_->post([self = shared_from_this(), code] { self->end(code); });
  }

  // RealtimeSink, on the strand.
  void send(std::string text) override { reply_->send(std::move(text)); }
  void send_binary(std::string bytes) override { reply_->send_binary(std::move(bytes)); }
  void close(uint16_t code, std::string reason) override { reply_->close(code, std::move(reason)); }
  size_t n_unsent() const override { return reply_->n_unsent(); }
  void when_taken(std::function<void()> on_taken) override { reply_->when_taken(std::move(on_taken)); }
  void hold(bool is_held) override { reply_->hold(is_held); }

  // RealtimeObserver, on the strand.
  void on_event(bool is_ours, std::string_view type) override {
    site_.metrics.add("realtime_events_total", 1, {{"direction", is_ours ? "out" : "in"}, {"type", type}});
  }
  void on_interrupted(double ms) override { site_.metrics.observe("barge_in_silence_seconds", ms / 1000); }
  void on_error(const std::string& code) override {
    site_.metrics.add("realtime_errors_total", 1, {{"code", code}});
  }
  void on_turn(const TurnTrace& trace) override {
    LogFields fields = {{"session", id_}};
    const auto note = [&](Checkpoint checkpoint, const char* metric) {
      const auto ms = trace.after_speech_ms(checkpoint);
      if (!ms) return;
      if (metric) site_.metrics.observe(metric, *ms / 1000);
      fields.emplace_back(name_of(checkpoint), *ms);
    };
    note(Checkpoint::asr_final, "asr_final_seconds");
    note(Checkpoint::turn_end, nullptr);
    note(Checkpoint::llm_first_token, "voice_first_token_seconds");
    note(Checkpoint::audio_first_played, "voice_first_audio_seconds");
    site_.log.write(LogLevel::info, "realtime_turn", fields);
  }
  void on_items(const ItemList&, const std::string&) override { has_new_items_ = true; }

 private:
  // From any thread; what is told last is how it is.
  void note_waiting(int64_t n_more) {
    const std::lock_guard lock(waiting_mutex_);
    n_waiting_ += n_more;
    const bool is_to_wait = is_held_ ? n_waiting_ >= kMuchWaiting / 4 : n_waiting_ > kMuchWaiting;
    if (std::exchange(is_held_, is_to_wait) != is_to_wait) reply_->hold(is_to_wait);
  }

  // On a thread that may wait for models.
  void load() {
    SessionModels models;
    if (auto asr = site_.regions.asr.acquire()) models.asr = *std::move(asr);
    if (auto tts = site_.regions.tts.acquire()) models.tts = *std::move(tts);
    if (auto vad = site_.regions.vad.acquire()) models.vad = *std::move(vad);
    strand_->post([self = shared_from_this(), models = std::move(models)]() mutable {
      self->begin(std::move(models));
    });
  }

  void begin(SessionModels models) {
    if (has_ended_) return;
    parts_ = make_realtime_parts(site_, request_.caller, std::move(models));
    RealtimeTerms terms;
    terms.offer = realtime_offer(site_);
    terms.dialect = request_.dialect;
    terms.kind = request_.kind;
    terms.session = request_.session;
    terms.conversation_id = request_.conversation_id;
    if (!request_.conversation_id.empty())
      terms.items = site_.realtime_conversations.find(request_.owner, request_.conversation_id);
    session_ =
        std::make_unique<RealtimeSession>(std::move(terms), *parts_, *this, *this, [weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->wake();
        });
    id_ = session_->conversation_id();
    site_.log.write(
        LogLevel::info, "realtime_open",
        {{"session", id_}, {"dialect", std::string(request_.dialect == Dialect::ga ? "ga" : "beta")}});
    session_->open();
    for (auto& [message, is_binary] : std::exchange(early_, {})) take(message, is_binary);
    if (is_draining_) session_->drain();
    look_again();
  }

  // Of any thread.
  void wake() {
    if (is_woken_.exchange(true)) return;
    strand_->post([self = shared_from_this()] {
      self->is_woken_ = false;
      if (self->session_) self->session_->advance();
      self->look_again();
    });
  }

  void take(const std::string& message, bool is_binary) {
    if (has_ended_) return;
    if (!session_) {
      early_.emplace_back(message, is_binary);
      return;
    }
    if (is_binary) {
      session_->take_binary(message);
    } else {
      session_->take_text(message);
    }
    note_waiting(-std::ssize(message));
    look_again();
  }

  void look_again() {
    if (!session_) return;
    const auto now = Strand::Clock::now();
    std::optional<Strand::Clock::time_point> at;
    if (const auto wait_ms = session_->wait_ms())
      at = now + std::chrono::microseconds(static_cast<int64_t>(1000 * *wait_ms));
    if (has_new_items_) {
      if (now >= kept_at_ + kKeepingTime) {
        keep_items();
      } else {
        at = std::min(at.value_or(kept_at_ + kKeepingTime), kept_at_ + kKeepingTime);
      }
    }
    strand_->wake_at(at, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      if (self->session_) self->session_->advance();
      self->look_again();
    });
  }

  void keep_items() {
    has_new_items_ = false;
    kept_at_ = Strand::Clock::now();
    site_.realtime_conversations.keep(request_.owner, id_, session_->items().all());
  }

  void end(uint16_t code) {
    has_ended_ = true;
    if (!session_) return leave();
    keep_items();
    strand_->wake_at({}, {});
    session_.reset();
    site_.log.write(LogLevel::info, "realtime_close", {{"session", id_}, {"code", int64_t{code}}});
    leave();
  }
  void leave() {
    if (!std::exchange(has_left_, true)) --site_.n_realtime;
  }

  Site& site_;
  const SessionRequest request_;
  const std::shared_ptr<Strand> strand_;
  std::shared_ptr<SocketReply> reply_;
  std::atomic<bool> is_woken_{false};

  std::mutex waiting_mutex_;  // of what follows
  int64_t n_waiting_ = 0;     // bytes of messages that the session has not taken
  bool is_held_ = false;

  // Of the strand.
  std::unique_ptr<RealtimeParts> parts_;
  std::unique_ptr<RealtimeSession> session_;
  std::vector<std::pair<std::string, bool>> early_;  // that came before the models were there
  std::string id_;
  bool has_ended_ = false, is_draining_ = false, has_left_ = false, has_new_items_ = false;
  Strand::Clock::time_point kept_at_ = {};
};

bool offers(const std::vector<std::string>& protocols, std::string_view name) {
  return std::find(protocols.begin(), protocols.end(), name) != protocols.end();
}

bool is_conversation_id(std::string_view id) {
  return !id.empty() && id.size() <= 256 && std::none_of(id.begin(), id.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

}  // namespace

ApiResult<SocketOpening> open_realtime(Site& site, const HttpRequest& request, Caller caller) {
  if (request.parameter("call_id")) {
    return tl::unexpected(ApiError{.status = 404,
                                   .code = "not_offered",
                                   .message = "there are no calls here; open a session without call_id"});
  }
  PARLANCE_API_CHECK(find_offer(site, request.parameter("model"), ModelKind::text));
  const auto protocols = offered_protocols(request);
  SessionRequest session;
  const bool is_beta =
      request.field("openai-beta") == "realtime=v1" || offers(protocols, "openai-beta.realtime-v1");
  if (is_beta) session.dialect = Dialect::beta;
  const auto intent = request.parameter("intent");
  if (intent == "transcription") session.kind = SessionKind::transcription;
  if (const auto id = request.parameter("conversation_id")) {
    if (!is_conversation_id(*id)) {
      return refuse("invalid_value", "conversation_id",
                    "conversation_id must have 1 to 256 bytes and no control characters");
    }
    session.conversation_id = *id;
  }
  if (const auto secret = site.client_secrets.find(given_key(request))) {
    session.kind = secret->kind;
    if (secret->dialect == session.dialect) session.session = secret->session;
  }
  session.caller = caller;
  if (caller && site.gate().keys.size() > 1) session.owner = caller->name;
  if (++site.n_realtime > site.options.n_most_realtime) {
    --site.n_realtime;
    site.metrics.add("requests_rejected_total", 1, {{"reason", "server_overloaded"}});
    return tl::unexpected(
        try_again(503, "server_overloaded", "as many sessions are open as may; try again later", 5));
  }
  return SocketOpening{.talker = std::make_shared<RealtimeTalker>(site, std::move(session)),
                       .protocol = offers(protocols, "realtime") ? "realtime" : ""};
}

}  // namespace parlance
