// The options of `parlance serve`.
#include "cli/serve_options.h"

#include <chrono>
#include <memory>

#include "base/log_level.h"

namespace parlance {

namespace {

OptionGroup address_group(ServeOptions& o) {
  ListenerOptions& l = o.server.listener;
  return {
      "Address",
      {text_option("--host", "ADDRESS",
                   "Where to listen, an address or unix:/path for a proxy; anything but this machine itself "
                   "needs keys.",
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
       list_option(
           "--trusted-proxy", "ADDRESS",
           "A proxy in front, a block such as 10.0.0.0/8, or unix for one behind unix:/path: what its "
           "X-Forwarded-For, -Proto and -Host say is believed.",
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
       voice_device_option(o.model.devices.voice), widened_weights_option(o.model.devices.widened_weights)}};
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
       number_option<int>("--io-threads", "N", "Threads that connections are spread over.",
                          o.server.listener.n_threads, 1, 4),
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

std::vector<OptionGroup> server_groups(ServeOptions& options) {
  options.answer.generate.max_tokens = options.server.n_most_tokens;
  return {address_group(options), caller_group(options),       work_group(options), wyoming_group(options),
          limit_group(options),   conversation_group(options), name_group(options), log_group(options)};
}

}  // namespace parlance
