// What the options of `parlance serve` mean together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <limits>

#include "asr/languages.h"
#include "assistant/model_files.h"
#include "base/log.h"
#include "base/os/environment.h"
#include "base/os/file.h"
#include "base/parse_number.h"
#include "cli/serve_options.h"
#include "tts/files/voice_preset.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

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
    SweepInterval interval =
        interval_from(variable, environment(variable), target, std::chrono::milliseconds(floor_ms));
    target = interval.time;
    if (!interval.remark.empty()) log_warning("{}", interval.remark);
  };
  settle_interval("ELIZA_LOCAL_EVICTION_INTERVAL_MS", rules.eviction_interval, 60000);
  settle_interval("ELIZA_LOCAL_KEEPALIVE_INTERVAL_MS", rules.keepalive_interval, 30000);
  return {};
}

// Options of all verbs, of which a server takes less.
Result<void> check_ranges(const ServeOptions& options) {
  struct Range {
    const char* name;
    double least, most;
  };
  constexpr double kAny = std::numeric_limits<double>::infinity();
  constexpr std::array kRanges = {Range{"threads", 1, 1024}, Range{"max-tokens", 1, kAny},
                                  Range{"temp", 0, 2}};
  for (const Range& range : kRanges) {
    const auto setting = std::ranges::find(options.settings, range.name, &Setting::name);
    if (setting == options.settings.end() || setting->source == "default" || setting->values.empty())
      continue;
    const auto number = parse_number<double>(setting->values.back());
    if (number && *number >= range.least && *number <= range.most) continue;
    const std::string most = range.most == kAny ? " or more" : fmt::format(" to {}", range.most);
    return fail(ErrorCode::invalid_argument, "--{}: a server takes {}{}, got '{}'", range.name, range.least,
                most, setting->values.back());
  }
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

}  // namespace

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

Result<void> settle(ServeOptions& options) {
  ServerOptions& server = options.server;
  PARLANCE_CHECK(check_ranges(options));
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
  if (!is_local_address(server.listener.host) && server.gate.keys.empty() && !server.is_open) {
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
  if (options.opens_page && is_socket_file(server.listener.host)) {
    return fail(ErrorCode::invalid_argument,
                "--open shows a page to browsers, which reach no socket in a folder; leave it out, or give "
                "--host an address");
  }
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

}  // namespace parlance
