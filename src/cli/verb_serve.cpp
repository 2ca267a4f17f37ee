// parlance serve: the models of a bundle for programs that speak OpenAI's interface.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "asr/languages.h"
#include "assistant/model_files.h"
#include "assistant/wording.h"
#include "base/log_level.h"
#include "base/os/browser.h"
#include "base/os/environment.h"
#include "base/os/file.h"
#include "base/os/signals.h"
#include "cli/llama_server.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/verbs.h"
#include "server/router.h"
#include "server/server.h"
#include "tts/files/voice_preset.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr int kSomethingCut = 3;
constexpr std::chrono::milliseconds kLookForSignals{20};

struct ListenerSeconds {
  double head = 0, body = 0, idle = 0, write = 0;
};

enum class Reasoning { off, on, as_template };

struct ServeOptions {
  ModelChoice model;
  AnswerChoice answer;
  ServerOptions server;
  int port = 8080, n_waiting = 64;
  Reasoning reasoning = Reasoning::off;
  double grace_s = 30, request_s = 600, ping_s = 10;
  std::string key_file, key;
  std::vector<std::string> aliases, voice_aliases;
  bool lists_routes = false, only_checks = false;
  bool has_no_page = false, opens_page = false;
  bool has_no_voice_aliases = false;
  std::string state_folder, slot_folder, prewarm_file;
  bool keeps_nothing = false;
  std::optional<int64_t> n_parallel;
  UnusedFlags unused;
  std::string config_file;
  std::vector<std::string> proxies;
  ListenerSeconds seconds;
  int64_t n_head_bytes = 0, n_json_bytes = 0, n_upload_bytes = 0, n_connections = 0,
          n_connections_of_address = 0;
  int max_audio_minutes = 30;
  bool has_no_tool_grammar = false, prints_settings = false;
  std::vector<Setting> settings;
  std::string wyoming;
  std::vector<std::string> wyoming_allowed;
};

// The terminal was closed, or somebody asks for rules to be read again: there is nothing else to hang up.
class RereadSignal {
 public:
  RereadSignal()
      : handler_(
            kSignals, [] { is_wanted = true; }, SignalHandler::SystemCalls::go_on) {}
  bool take() { return is_wanted.exchange(false); }

 private:
  static constexpr std::array kSignals = {Signal::hang_up};
  static inline std::atomic<bool> is_wanted{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
  SignalHandler handler_;
};

// While it lives, what rooms below log are events, too.
class LogsInEvents {
 public:
  LogsInEvents(EventLog& log, LogLevel level)
      : before_(set_log_sink([&log](LogLevel of, std::string_view message) {
          log.write(of, "message", {{"message", worded(message, Door::command_line)}});
        })) {
    set_log_level(level);
  }
  ~LogsInEvents() {
    set_log_level(LogLevel::warning);
    set_log_sink(std::move(before_));
  }
  LogsInEvents(const LogsInEvents&) = delete;
  LogsInEvents& operator=(const LogsInEvents&) = delete;

 private:
  LogSink before_;
};

Result<std::pair<std::string, std::string>> pair_of(std::string_view flag, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
  }
  return fail(ErrorCode::invalid_argument, "{}: expected NAME=WHAT, got '{}'", flag, text);
}

// "NAME" is another name of the text model, "NAME=asr" of the one that hears.
Result<ModelAlias> alias_of(const std::string& text) {
  if (text.find('=') == std::string::npos) return ModelAlias{text, ModelKind::text};
  PARLANCE_TRY(const auto pair, pair_of("--alias", text));
  for (const ModelKind kind : kModelKinds) {
    if (pair.second == name_of(kind)) return ModelAlias{pair.first, kind};
  }
  return fail(ErrorCode::invalid_argument, "--alias: '{}' is not one of text, asr, tts, embedding",
              pair.second);
}

Result<void> read_server_keys(ServeOptions& options) {
  std::vector<ApiKey>& keys = options.server.gate.keys;
  if (!options.key_file.empty()) {
    PARLANCE_TRY(keys, read_keys(options.key_file));
  }
  const std::string key = options.key.empty() ? environment("PARLANCE_API_KEY").value_or("") : options.key;
  if (!key.empty()) {
    PARLANCE_TRY(ApiKey one, make_key("--api-key", key, "key", keys.empty()));
    keys.push_back(std::move(one));
  }
  if (keys.size() == 1) keys.front().is_admin = true;
  return {};
}

constexpr size_t kMostPrewarmBytes = size_t{16} << 20;

// Where conversations are put away, and when: what flags say, then the environment.
Result<void> settle_conversations(ServeOptions& options) {
  ConversationRules& rules = options.server.conversations;
  const auto folder_of = [](const char* variable) {
    const auto folder = environment(variable);
    return folder ? fs::path(*folder) : fs::path();
  };
  rules.slot_folder = options.slot_folder;
  rules.state_folder = options.state_folder;
  if (rules.state_folder.empty()) rules.state_folder = folder_of("PARLANCE_STATE_DIR");
  if (rules.state_folder.empty() && environment("XDG_STATE_HOME"))
    rules.state_folder = folder_of("XDG_STATE_HOME") / "parlance";
  if (rules.state_folder.empty() && environment("HOME"))
    rules.state_folder = folder_of("HOME") / ".local" / "state" / "parlance";
  if (options.keeps_nothing) rules.state_folder = rules.slot_folder = fs::path();
  if (!options.prewarm_file.empty()) {
    PARLANCE_TRY(rules.prewarm_body, read_text_file(options.prewarm_file, kMostPrewarmBytes));
    PARLANCE_CHECK(Json::parse(rules.prewarm_body).map_error([&](Error error) {
      error.message = fmt::format("--prewarm: {}: {}", options.prewarm_file, error.message);
      return error;
    }));
  }
  const auto settle_interval = [](const char* variable, std::chrono::milliseconds& target, int floor_ms) {
    Interval interval =
        interval_from(variable, environment(variable), target, std::chrono::milliseconds(floor_ms));
    target = interval.time;
    if (!interval.remark.empty()) log_warning("{}", interval.remark);
  };
  settle_interval("ELIZA_LOCAL_EVICTION_INTERVAL_MS", rules.eviction_interval, 60000);
  settle_interval("ELIZA_LOCAL_KEEPALIVE_INTERVAL_MS", rules.keepalive_interval, 30000);
  return {};
}

Result<void> check_voice(const ServeOptions& options) {
  const std::string& voice = options.server.voice;
  std::vector<std::string> presets = list_voice_presets(find_voices(options.model.files));
  if (voice == "default" || std::ranges::find(presets, voice) != presets.end()) return {};
  if (std::ranges::find(presets, "default") == presets.end()) presets.insert(presets.begin(), "default");
  return fail(ErrorCode::invalid_argument, "--voice: there is no voice '{}'; there is {}", voice,
              fmt::join(presets, ", "));
}

// What flags say of the server in one structure. Errors are of usage.
Result<void> settle(ServeOptions& options) {
  ServerOptions& server = options.server;
  PARLANCE_CHECK(check_answer(options.answer));
  PARLANCE_CHECK(read_server_keys(options));
  PARLANCE_CHECK(settle_conversations(options));
  for (const std::string& text : options.aliases) {
    PARLANCE_TRY(ModelAlias alias, alias_of(text));
    server.aliases.push_back(std::move(alias));
  }
  for (const std::string& text : options.voice_aliases) {
    PARLANCE_TRY(auto alias, pair_of("--voice-alias", text));
    server.voice_aliases.push_back(std::move(alias));
  }
  for (const std::string& origin : server.gate.cors_origins) PARLANCE_CHECK(check_origin(origin));
  for (const std::string& proxy : options.proxies) {
    auto block = AddressBlock::parse(proxy);
    if (!block) return fail(ErrorCode::invalid_argument, "--trusted-proxy: {}", block.error().message);
    server.gate.proxies.push_back(*block);
  }
  if (!is_loopback_address(server.listener.host) && server.gate.keys.empty() && !server.is_open) {
    return fail(
        ErrorCode::invalid_argument,
        "whoever reaches {} could use this server; give --api-key-file, or --no-auth if everybody may",
        server.listener.host);
  }
  if (!options.wyoming.empty()) {
    PARLANCE_TRY(server.wyoming, wyoming_door_options(options.wyoming, options.wyoming_allowed));
  }
  for (std::string& language : server.wyoming_languages) {
    PARLANCE_TRY(const SpeechLanguage known, find_speech_language(language).map_error([](Error error) {
      error.message = "--wyoming-language: " + error.message;
      return error;
    }));
    language = std::string(known.code);
  }
  server.listener.port = static_cast<uint16_t>(options.port);
  server.has_page = !options.has_no_page;
  if (options.opens_page && options.has_no_page) {
    return fail(ErrorCode::invalid_argument,
                "--open shows the page that --no-web takes away; give one of them");
  }
  server.has_voice_aliases = !options.has_no_voice_aliases;
  PARLANCE_CHECK(check_voice(options));
  server.thinks = options.reasoning == Reasoning::as_template
                      ? std::nullopt
                      : std::optional(options.reasoning == Reasoning::on);
  std::vector<std::string> remarks;
  const bool is_on_gpu = options.model.devices.text != "cpu";
  options.model.context.n_seq = static_cast<int>(options.n_parallel.value_or(parallel_by_default(
      environment("ELIZA_LOCAL_PARALLEL"), environment("ELIZA_DFLASH_PARALLEL"), is_on_gpu, remarks)));
  for (const std::string& remark : remarks) log_warning("{}", remark);
  if (!options.unused.empty())
    log_warning("without effect here: {}; parlance serve --help says why", fmt::join(options.unused, ", "));
  options.model.context.n_waiting = options.n_waiting;
  // Who talks is listened to: streams beyond these wait for one that ends.
  constexpr int64_t kFewestStreams = 4, kMostStreams = 16;
  options.model.recognizer.n_streams =
      static_cast<int>(std::clamp(server.n_most_realtime, kFewestStreams, kMostStreams));
  server.models = options.model;
  server.defaults = options.answer.generate;
  server.defaults.draft.is_required = options.model.draft.is_required;
  if (server.defaults.max_tokens > 0) server.n_most_tokens = server.defaults.max_tokens;
  const auto ms = [](double seconds) {
    return std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds));
  };
  ListenerOptions& listener = server.listener;
  listener.head_time = ms(options.seconds.head);
  listener.body_time = ms(options.seconds.body);
  listener.idle_time = ms(options.seconds.idle);
  listener.write_time = ms(options.seconds.write);
  listener.head.n_head_bytes = static_cast<size_t>(options.n_head_bytes);
  listener.n_connections = static_cast<size_t>(options.n_connections);
  listener.n_connections_of_address = static_cast<size_t>(options.n_connections_of_address);
  server.n_json_bytes = static_cast<size_t>(options.n_json_bytes);
  server.n_upload_bytes = static_cast<size_t>(options.n_upload_bytes);
  server.most_audio_seconds = 60.0 * options.max_audio_minutes;
  server.has_tool_grammar = !options.has_no_tool_grammar;
  server.request_time = ms(options.request_s);
  server.ping_time = ms(options.ping_s);
  return {};
}

std::string address_of(std::string_view host, uint16_t port) {
  const bool is_v6 = host.find(':') != std::string_view::npos;
  return fmt::format("http://{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

// The page in the person's browser; where that cannot be, the address for it in words.
void open_page(const Console& io, std::string_view host, uint16_t port) {
  const bool is_everywhere = host == "0.0.0.0" || host == "::";
  const std::string address = address_of(is_everywhere ? "127.0.0.1" : host, port);
  if (const auto opened = open_in_browser(address); !opened) {
    io.print("{}; open {} in yours\n", opened.error().message, address);
    io.flush();
  }
}

// Keys, and names in a file of settings, as they are now. What is wrong with them leaves the rules as they
// are.
Result<void> reread_gate(const ServeOptions& given, Site& site) {
  ServeOptions options = given;
  options.server.gate = site.options.gate;
  options.server.gate.keys.clear();
  PARLANCE_CHECK(read_server_keys(options));
  const auto hosts = std::ranges::find(options.settings, "allowed-host", &Setting::name);
  const bool may_be_in_file = !options.config_file.empty() && hosts != options.settings.end() &&
                              (hosts->source == "default" || hosts->source.starts_with("--config"));
  if (may_be_in_file) {
    PARLANCE_TRY(options.server.gate.allowed_hosts,
                 setting_in_file("serve", options.config_file, "allowed-host"));
  }
  if (options.server.gate.keys.empty() && !site.options.gate.keys.empty()) {
    return fail(ErrorCode::invalid_argument, "there are no keys any more; the ones before still count");
  }
  site.replace_gate(std::move(options.server.gate));
  return {};
}

Result<int> serve(const Console& io, ServeOptions& options) {
  if (options.prints_settings) {
    io.write(settings_text(options.settings));
    return kSuccess;
  }
  if (options.lists_routes) {
    io.write(routes_text());
    return kSuccess;
  }
  const InterruptGuard guard(kSomethingCut);
  RereadSignal reread;
  const std::string& host = options.server.listener.host;
  PARLANCE_TRY(const auto server, Server::start(options.server));
  EventLog& log = server->site().log;
  const LogsInEvents logs(log, options.server.log_level);
  if (options.server.logs_content)
    log_warning(
        "--log-content: what clients say and hear is written to this log; for trying things out alone");
  PARLANCE_CHECK(server->wait_until_ready());
  io.print("listening on {}\n", address_of(host, server->port()));
  if (server->wyoming_port() != 0) {
    const std::string& wyoming_host = options.server.wyoming->host;
    io.print("wyoming on tcp://{}:{}\n",
             wyoming_host.find(':') == std::string::npos ? wyoming_host : "[" + wyoming_host + "]",
             server->wyoming_port());
    for (const std::string& block : options.wyoming_allowed) {
      if (block.ends_with("/0")) {
        log_warning("--wyoming-allow {}: everybody who reaches the address may use the models", block);
      }
    }
  }
  io.flush();
  log.write(LogLevel::info, "ready",
            {{"host", host}, {"port", int64_t{server->port()}}, {"model", server->site().offers.front().id}});
  if (options.only_checks) return kSuccess;
  if (options.opens_page) open_page(io, host, server->port());
  while (!guard.interrupted()) {
    std::this_thread::sleep_for(kLookForSignals);
    if (!reread.take()) continue;
    const auto done = reread_gate(options, server->site());
    log.write(done ? LogLevel::info : LogLevel::warning, "reread",
              {{"result", done ? std::string("ok") : done.error().message}});
  }
  log.write(LogLevel::info, "drain", {});
  server->drain();
  const auto grace = std::chrono::milliseconds(static_cast<int64_t>(1000 * options.grace_s));
  const bool is_whole = server->finish(grace);
  log.write(LogLevel::info, "exit", {{"cut", !is_whole}});
  return is_whole ? static_cast<int>(kSuccess) : kSomethingCut;
}

OptionGroup address_group(ServeOptions& o) {
  ListenerOptions& l = o.server.listener;
  return {"Address",
          {text_option("--host", "ADDRESS", "Where to listen; anything but this machine itself needs keys.",
                       l.host),
           number_option<int>("--port", "N", "0: any that is free; it is printed.", o.port, 0, 65535),
           flag("--open", "Show the page to talk to in the browser.", o.opens_page),
           flag("--no-web", "There is no page to talk to under /.", o.has_no_page),
           list_option("--allowed-host", "NAME", "Another name that clients may call this server by.",
                       o.server.gate.allowed_hosts),
           list_option("--cors-origin", "ORIGIN",
                       "A web page's origin that may ask, such as https://app.example.",
                       o.server.gate.cors_origins)}};
}

OptionGroup caller_group(ServeOptions& o) {
  Option key = text_option("--api-key", "KEY",
                           "One key; the environment variable PARLANCE_API_KEY hides it from others.", o.key);
  key.is_secret = true;
  Option waiting = number_option<int>("--key-queue", "N", "Those that wait beside them.",
                                      o.server.n_key_waiting, 0, 10000);
  waiting.fallback = "16";
  return {
      "Callers",
      {text_option("--api-key-file", "FILE", "Keys, one a line: name:key or name:key:admin.", o.key_file),
       std::move(key),
       number_option<int>(
           "--key-running", "N",
           "Answers of one key that are made at once, where there are several keys; as many as of "
           "all where it is not given.",
           o.server.n_key_running, 1, 256),
       std::move(waiting), flag("--no-auth", "Everybody who reaches the address may ask.", o.server.is_open),
       list_option("--trusted-proxy", "ADDRESS",
                   "A proxy in front, or a block such as 10.0.0.0/8: what its X-Forwarded-For, -Proto and "
                   "-Host say is believed.",
                   o.proxies),
       flag("--metrics-public", "GET /metrics needs no key.", o.server.are_metrics_public),
       flag("--strict-fields", "Fields that are not known are errors.", o.server.is_strict)}};
}

std::optional<Reasoning> reasoning_from_name(std::string_view name) {
  if (name == "off") return Reasoning::off;
  if (name == "on") return Reasoning::on;
  if (name == "auto") return Reasoning::as_template;
  return std::nullopt;
}

Option parallel_option(std::optional<int64_t>& n_parallel) {
  Option option =
      number_option<int64_t>("--parallel, -np", "N", "Answers that are made at once.", n_parallel, 1, 256);
  option.fallback = "4; 16 on a GPU";
  return option;
}

OptionGroup wyoming_group(ServeOptions& o) {
  return {"Home Assistant",
          {text_option("--wyoming", "HOST:PORT",
                       "Speak the Wyoming protocol there: speech to text, text to speech and conversation.",
                       o.wyoming),
           list_option(
               "--wyoming-allow", "CIDR",
               "A network that may ask, such as 192.168.0.0/16; this machine may. The protocol has no keys.",
               o.wyoming_allowed),
           list_option(
               "--wyoming-language", "CODE",
               "A language that the services are offered for, where it is not all that the recogniser knows.",
               o.server.wyoming_languages),
           text_option("--wyoming-system", "TEXT",
                       "What the model is told before it answers there, where that is not --system.",
                       o.server.wyoming_system)}};
}

OptionGroup work_group(ServeOptions& o) {
  return {
      "Work",
      {parallel_option(o.n_parallel),
       number_option<int>("--queue", "N", "Answers that may wait beside them.", o.n_waiting, 0, 10000),
       number_option<int64_t>("--max-realtime", "N", "Realtime sessions at once.", o.server.n_most_realtime,
                              0, 1024),
       number_option<double>("--request-timeout", "SECONDS", "Longest time of an answer.", o.request_s, 1,
                             86400),
       number_option<double>("--grace", "SECONDS",
                             "How long answers may take to finish when the server ends.", o.grace_s, 0, 600),
       number_option<double>("--sse-ping", "SECONDS", "A stream that is silent for so long gets a comment.",
                             o.ping_s, 0.1, 60),
       flag("--no-tool-grammar",
            "Do not hold calls to the tools that there are, where a request leaves calling to the model.",
            o.has_no_tool_grammar),
       choice_option("--reasoning", "MODE",
                     "Whether models that can think do, where a request does not say; auto: as the model's "
                     "template has it.",
                     "off, on, auto", o.reasoning, reasoning_from_name, "off"),
       text_option("--system", "TEXT", "What the model is told first in realtime sessions that do not say.",
                   o.server.system),
       text_option("--voice", "VOICE",
                   "Who speaks where no voice is named; also what the names of OpenAI's voices mean.",
                   o.server.voice),
       choice_option(
           "--speech-quality", "QUALITY",
           "How much is computed for a text that is spoken: exact as the model was published, standard "
           "what is heard, fast a little less.",
           std::string(kSpeechQualities), o.server.speech_quality, speech_quality_from_name, "standard"),
       voice_device_option(o.model.devices.voice)}};
}

// Defaults are those of the server's own options.
OptionGroup limit_group(ServeOptions& o) {
  const ServerOptions& server = o.server;
  const auto take = [](int64_t& target, size_t value) { target = static_cast<int64_t>(value); };
  take(o.n_head_bytes, server.listener.head.n_head_bytes);
  take(o.n_json_bytes, server.n_json_bytes);
  take(o.n_upload_bytes, server.n_upload_bytes);
  take(o.n_connections, server.listener.n_connections);
  take(o.n_connections_of_address, server.listener.n_connections_of_address);
  ListenerSeconds& s = o.seconds;
  const auto in_seconds = [](std::chrono::milliseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  s = {.head = in_seconds(server.listener.head_time),
       .body = in_seconds(server.listener.body_time),
       .idle = in_seconds(server.listener.idle_time),
       .write = in_seconds(server.listener.write_time)};
  const auto bytes = [](const char* name, const char* help, int64_t& target, int64_t least, int64_t most) {
    return number_option<int64_t>(name, "BYTES", help, target, least, most);
  };
  const auto seconds = [](const char* name, const char* help, double& target, double most) {
    return number_option<double>(name, "SECONDS", help, target, 1, most);
  };
  return {
      "Limits",
      {number_option<int64_t>("--max-connections", "N", "Connections; the one idle for longest makes room.",
                              o.n_connections, 8, 65536),
       number_option<int64_t>("--max-connections-per-address", "N",
                              "Of one address that is not this machine's.", o.n_connections_of_address, 1,
                              65536),
       bytes("--head-limit", "Of a request's head.", o.n_head_bytes, 4096, 65536),
       bytes("--body-limit", "Of a JSON body.", o.n_json_bytes, 65536, int64_t{256} << 20),
       bytes("--upload-limit", "Of a form with a recording.", o.n_upload_bytes, 65536, int64_t{1} << 30),
       seconds("--head-timeout", "For a whole head.", s.head, 120),
       seconds("--body-timeout", "For a whole body.", s.body, 3600),
       seconds("--idle-timeout", "Between two requests of a connection.", s.idle, 3600),
       seconds("--write-timeout", "Without a client taking anything of its answer.", s.write, 600),
       number_option<int>("--max-audio-minutes", "N", "Of a recording.", o.max_audio_minutes, 1, 600),
       number_option<int>("--prep-threads", "N", "Threads that read requests.", o.server.n_preparing, 1, 8)}};
}

OptionGroup conversation_group(ServeOptions& o) {
  return {
      "Conversations",
      {text_option("--state-dir", "FOLDER",
                   "Where conversations are put away; $XDG_STATE_HOME/parlance where it is not given.",
                   o.state_folder),
       text_option("--slot-save-path", "FOLDER", "The folder of their files itself.", o.slot_folder),
       flag("--no-state", "Nothing is put into files.", o.keeps_nothing),
       text_option("--prewarm", "FILE",
                   "A chat in JSON that others begin like: computed at the start, and kept.", o.prewarm_file),
       flag("--share-prefixes", "Beginnings are shared between API keys, too.",
            o.server.conversations.shares_prefixes)}};
}

std::optional<LogFormat> log_format_from_name(std::string_view name) {
  if (name == "text") return LogFormat::text;
  if (name == "json") return LogFormat::json;
  return std::nullopt;
}

OptionGroup log_group(ServeOptions& o) {
  o.server.log_level = LogLevel::info;
  return {"Log and settings",
          {choice_option("--log-format", "FORMAT", "How the events on standard error are written.",
                         "text, json", o.server.log_format, log_format_from_name, "text"),
           choice_option("--log-level", "LEVEL", "Which events are written.", "debug, info, warning, error",
                         o.server.log_level, log_level_of, "info"),
           flag("--log-content",
                "Also write what is asked and answered, for trying things out; a warning says so.",
                o.server.logs_content),
           text_option(
               "--config", "FILE",
               "Options as lines 'name = value'; environment variables such as PARLANCE_PORT and the command "
               "line win.",
               o.config_file)}};
}

OptionGroup name_group(ServeOptions& o) {
  return {"Models and names",
          {model_text_option("--embedding", "FILE",
                             "The model that embeds texts, where the bundle has none or another is wanted.",
                             o.model.files.embedding),
           text_option("--name", "NAME", "What the models are called.", o.server.name),
           list_option("--alias", "NAME",
                       "Another name of the text model; NAME=asr, NAME=tts and NAME=embedding of the others.",
                       o.aliases),
           flag("--any-model", "Take every name of a model.", o.server.takes_any_model),
           list_option("--voice-alias", "NAME=VOICE", "Another name of a voice.", o.voice_aliases),
           flag("--no-voice-aliases", "Do not take the names of OpenAI's voices for the default one.",
                o.has_no_voice_aliases)}};
}

}  // namespace

Command serve_command() {
  const auto options = std::make_shared<ServeOptions>();
  options->answer.generate.max_tokens = options->server.n_most_tokens;
  Command command;
  command.name = "serve";
  command.summary = "Serve the models over HTTP.";
  command.description =
      "Chats, completions, speech and transcriptions for programs that speak OpenAI's interface, for many of "
      "them at "
      "once. It ends on Ctrl-C or SIGTERM, when what it has begun is done: with 0, or with 3 where something "
      "had to "
      "be cut.";
  command.examples = {
      {"parlance serve", "the bundled models on http://127.0.0.1:8080"},
      {"parlance serve --open", "the same, and the page to talk to in the browser"},
      {"parlance serve -m Qwen3-0.6B-Q8_0.gguf --parallel 8", "another model, eight answers at once"},
      {"parlance serve --host 0.0.0.0 --api-key-file keys.txt", "for other machines, which need a key"},
      {"parlance serve --wyoming 0.0.0.0:10300 --wyoming-allow 192.168.0.0/16", "for Home Assistant, too"}};
  command.groups = {
      address_group(*options),
      caller_group(*options),
      work_group(*options),
      wyoming_group(*options),
      limit_group(*options),
      conversation_group(*options),
      name_group(*options),
      log_group(*options),
      sampling_group(options->answer),
      answer_group(options->answer),
      model_group(options->model),
      draft_group(options->model, options->answer.generate.draft),
      llama_server_group(options->unused),
      {"Instead of serving",
       {flag("--routes", "List the routes.", options->lists_routes),
        flag("--print-config", "Print all options, and where each comes from.", options->prints_settings),
        flag("--check", "Load the models, listen, and end.", options->only_checks)}}};
  command.has_settings = true;
  command.on_settings = [options](std::vector<Setting> settings) { options->settings = std::move(settings); };
  command.check = [options] { return settle(*options); };
  command.run = [options](Console& io) { return serve(io, *options); };
  return command;
}

}  // namespace parlance
