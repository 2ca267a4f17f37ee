// What the routes of a running server share.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "assistant/regions.h"
#include "assistant/speech.h"
#include "chat/answer_reader.h"
#include "engine/request.h"
#include "realtime/conversation_store.h"
#include "realtime/strands.h"
#include "server/api_error.h"
#include "server/client_secrets.h"
#include "server/conversations.h"
#include "server/fields.h"
#include "server/gate.h"
#include "server/grammar_cache.h"
#include "server/key_shares.h"
#include "server/listener.h"
#include "server/metrics.h"
#include "server/pulse.h"
#include "server/response_store.h"
#include "server/workers.h"
#include "server/wyoming_door.h"

namespace parlance {

enum class ModelKind : uint8_t { text, asr, tts, embedding };
inline constexpr std::array kModelKinds = {ModelKind::text, ModelKind::asr, ModelKind::tts,
                                           ModelKind::embedding};

std::string_view name_of(ModelKind kind);  // "text"

struct ModelAlias {
  std::string name;
  ModelKind kind = ModelKind::text;
};

struct ServerOptions {
  ListenerOptions listener;
  GateRules gate;
  bool is_open = false;  // everybody who reaches the address may ask, also without keys
  Choice models;
  std::string name;  // of the models; empty: the bundle's, or the file's
  std::vector<ModelAlias> aliases;
  bool takes_any_model = false;
  std::vector<std::pair<std::string, std::string>> voice_aliases;  // name, preset
  bool has_voice_aliases = true;                                   // those of OpenAI's interface too

  GenerateOptions defaults;                                // of answers
  int64_t n_most_tokens = 4096;                            // of an answer that does not say
  bool is_strict = false;                                  // unknown fields are errors
  SpeechQuality speech_quality = SpeechQuality::standard;  // of texts that are spoken
  // Answers of one key, where there are several keys: that are made, and that wait. None: as many as all.
  std::optional<int> n_key_running, n_key_waiting;
  LogFormat log_format = LogFormat::text;
  LogLevel log_level = LogLevel::warning;
  bool are_metrics_public = false;
  bool has_page = true;          // to talk to, under /
  bool has_tool_grammar = true;  // calls are held to their tools, also where none has to be made
  // Whether models that can think do, where a request does not say; none: as their template has it.
  std::optional<bool> thinks = false;
  // The preset that speaks where no voice is named, and what names of OpenAI's voices mean.
  std::string voice = "default";
  std::string system;         // what the model is told first in Realtime sessions that do not say
  bool logs_content = false;  // events also have what is asked and answered
  int n_preparing = 1;        // threads that read requests
  size_t n_json_bytes = size_t{16} << 20;
  size_t n_upload_bytes = size_t{64} << 20;
  double most_audio_seconds = 30 * 60;
  int64_t n_most_realtime = 8;  // sessions at once
  std::chrono::milliseconds request_time{600000};
  std::chrono::milliseconds ping_time{10000};  // of silence in a stream
  ConversationRules conversations;
  // The Wyoming protocol beside HTTP: none where nobody asked for it.
  std::optional<WyomingDoorOptions> wyoming;
  std::vector<std::string> wyoming_languages;  // codes, of its services; none: all that the recogniser knows
  std::string wyoming_system;                  // what the model is told before it answers there
};

// Something that is being made for a client over many steps.
class LiveAnswer {
 public:
  virtual ~LiveAnswer() = default;
  // From the server's clock, about once a second.
  virtual void tick() = 0;
  // The server ends: so does this, with an error.
  virtual void cut() = 0;
};

struct ModelOffer {
  std::string id;
  ModelKind kind;
};

enum class ServerPhase : uint8_t { loading, serving, draining };

struct Site {
  explicit Site(ServerOptions options);

  // Who may ask: as the options say, until somebody says otherwise. From any thread; what was given out
  // before stays as it was.
  const GateRules& gate() const { return *gate_.load(); }
  void replace_gate(GateRules rules);

  const ServerOptions options;
  Regions regions;
  EventLog log;
  Metrics metrics;
  GrammarCache grammars{metrics};
  KeyShares key_shares;
  std::atomic<ServerPhase> phase{ServerPhase::loading};

  Pulse pulse;                         // of what computes
  std::atomic<bool> is_loaded{false};  // a server that ends while it loads never serves

  // From when it is loaded.
  std::shared_ptr<TextRegion> text;
  std::unique_ptr<Conversations> conversations;
  std::vector<ModelOffer> offers;
  ToolFamily tool_family = ToolFamily::none;  // as the model's template puts tools; none: it does not
  std::string fingerprint;                    // "fp_…": of program, model and cache
  std::string version;
  int64_t created_unix_s = 0;

  Workers prep;     // reads requests: JSON, templates, tokens
  Workers answers;  // puts answers into words for clients
  Workers sound;    // recordings, and voices

  ResponseStore responses;
  ClientSecrets client_secrets;

  std::atomic<const Listener*> listener{nullptr};    // from when it listens
  std::atomic<const WyomingDoor*> wyoming{nullptr};  // the same, where there is one
  std::atomic<int64_t> n_running{0};                 // sequences of answers that are being made or wait
  std::atomic<double> mean_service_s{0};
  std::atomic<int64_t> n_embedding{0};  // requests for embeddings that are under way
  std::atomic<int64_t> n_realtime{0};   // sessions

  ConversationStore realtime_conversations;
  Strands strands{2};  // of sessions

  void enter(const std::shared_ptr<LiveAnswer>& answer);
  void tick_all();
  void cut_all();

 private:
  std::mutex mutex_;  // of what follows
  std::vector<std::weak_ptr<LiveAnswer>> live_;
  std::vector<std::unique_ptr<const GateRules>> gates_;  // all that there were: callers are known by them
  std::atomic<const GateRules*> gate_{nullptr};
};

// A request on its way through a route.
struct Call {
  HttpRequest request;
  std::shared_ptr<Reply> reply;
  Caller caller = nullptr;
  std::string route;                     // its pattern
  std::vector<std::string> path_values;  // of the pattern's {…}
};

// Who has a conversation to himself: the name of the key, where there are several; else nobody.
std::string owner_of(const Site& site, const Call& call);

// The model that a request names, of a kind; its real name. Errors: there is none of that name, or it is of
// another kind.
ApiResult<std::string> find_offer(const Site& site, const std::optional<std::string>& name, ModelKind kind);

// How long work took to end behind a client that has left, in a stage of the metrics.
void note_cancelled(Site& site, const Reply& reply, std::string_view stage);

// Where contents are logged, which is for trying things out: an event with a text of a request ("prompt",
// "speech") or of what has become of it ("thoughts", "answer", "call", "transcript"). Nothing otherwise.
// Realtime sessions have no id of a request.
void log_content(Site& site, const std::string& request_id, std::string_view what, const std::string& text);

// Sends what went wrong.
void send_error(const Call& call, const ApiError& error);

// Runs a handler on the threads that prepare; what it yields as an error is sent.
using Handler = ApiResult<void> (*)(Site& site, Call& call);

// Who talks over a WebSocket that a client asks for, and the sub-protocol that is chosen; empty: none. On the
// listener's thread.
struct SocketOpening {
  std::shared_ptr<SocketTalker> talker;
  std::string protocol = {};
};
using SocketOpener = ApiResult<SocketOpening> (*)(Site& site, const HttpRequest& request, Caller caller);
ApiResult<SocketOpening> open_realtime(Site& site, const HttpRequest& request, Caller caller);

// The handlers, by family.
ApiResult<void> list_models(Site& site, Call& call);
ApiResult<void> show_model(Site& site, Call& call);
ApiResult<void> list_voices(Site& site, Call& call);
ApiResult<void> show_props(Site& site, Call& call);
ApiResult<void> tokenize(Site& site, Call& call);
ApiResult<void> detokenize(Site& site, Call& call);
ApiResult<void> apply_template(Site& site, Call& call);
ApiResult<void> show_metrics(Site& site, Call& call);
ApiResult<void> complete_chat(Site& site, Call& call);
ApiResult<void> complete_text(Site& site, Call& call);
ApiResult<void> embed_texts(Site& site, Call& call);
ApiResult<void> count_chat_tokens(Site& site, Call& call);
ApiResult<void> create_response(Site& site, Call& call);
ApiResult<void> show_response(Site& site, Call& call);
ApiResult<void> delete_response(Site& site, Call& call);
ApiResult<void> count_response_tokens(Site& site, Call& call);
ApiResult<void> ollama_version(Site& site, Call& call);
ApiResult<void> ollama_models(Site& site, Call& call);
ApiResult<void> ollama_running(Site& site, Call& call);
ApiResult<void> ollama_show(Site& site, Call& call);
ApiResult<void> ollama_chat(Site& site, Call& call);
ApiResult<void> ollama_generate(Site& site, Call& call);
ApiResult<void> prewarm(Site& site, Call& call);
ApiResult<void> list_conversations(Site& site, Call& call);
ApiResult<void> show_conversation(Site& site, Call& call);
ApiResult<void> save_conversation(Site& site, Call& call);
ApiResult<void> restore_conversation(Site& site, Call& call);
ApiResult<void> close_conversation(Site& site, Call& call);
ApiResult<void> list_slots(Site& site, Call& call);
ApiResult<void> change_slot(Site& site, Call& call);
ApiResult<void> speak(Site& site, Call& call);
ApiResult<void> transcribe(Site& site, Call& call);
ApiResult<void> create_client_secret(Site& site, Call& call);
ApiResult<void> create_realtime_session(Site& site, Call& call);
ApiResult<void> create_transcription_session(Site& site, Call& call);

// Made from what is known at once, on the listener's thread.
HttpAnswer health_answer(const Site& site, const HttpRequest& request);
// Whether listener and scheduler have got on lately.
bool is_alive(const Site& site);
HttpAnswer live_answer(const Site& site, const HttpRequest& request);
HttpAnswer ready_answer(const Site& site, const HttpRequest& request);

// Under /api an error is a text: {"error": "…"}.
HttpAnswer in_ollamas_form(HttpAnswer answer);

}  // namespace parlance
