// parlance serve: the models of a bundle for programs that speak OpenAI's interface.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "assistant/wording.h"
#include "base/os/browser.h"
#include "base/os/service_manager.h"
#include "base/os/signals.h"
#include "cli/serve_options.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/interrupt.h"
#include "cli/verbs.h"
#include "server/router.h"

namespace parlance {

namespace {

constexpr int kSomethingCut = 3;
constexpr std::chrono::milliseconds kLookForSignals{20};

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

// Tells a service manager that wants to know that the server is alive, twice in the time that it gives.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;
  void look_at(const Site& site) {
    if (!time_ || Clock::now() < next_ || !is_alive(site)) return;
    tell_service_manager("WATCHDOG=1");
    next_ = Clock::now() + *time_ / 2;
  }

 private:
  const std::optional<std::chrono::microseconds> time_ = watchdog_time();
  Clock::time_point next_ = {};
};

std::string address_of(std::string_view host, uint16_t port) {
  if (is_socket_file(host)) return std::string(host);
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
  tell_service_manager("READY=1");
  if (options.opens_page) open_page(io, host, server->port());
  Watchdog watchdog;
  while (!guard.interrupted()) {
    std::this_thread::sleep_for(kLookForSignals);
    watchdog.look_at(server->site());
    if (!reread.take()) continue;
    const auto done = reread_gate(options, server->site());
    log.write(done ? LogLevel::info : LogLevel::warning, "reread",
              {{"result", done ? std::string("ok") : done.error().message}});
  }
  log.write(LogLevel::info, "drain", {});
  tell_service_manager("STOPPING=1");
  server->drain();
  const auto grace = std::chrono::milliseconds(static_cast<int64_t>(1000 * options.grace_s));
  const bool is_whole = server->finish(grace);
  log.write(LogLevel::info, "exit", {{"cut", !is_whole}});
  return is_whole ? static_cast<int>(kSuccess) : kSomethingCut;
}

}  // namespace

Command serve_command() {
  const auto options = std::make_shared<ServeOptions>();
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
  command.groups = server_groups(*options);
  for (OptionGroup& group : std::vector<OptionGroup>{
           sampling_group(options->answer),
           answer_group(options->answer),
           model_group(options->model),
           draft_group(options->model, options->answer.generate.draft),
           llama_server_group(options->unused),
           {"Instead of serving",
            {flag("--routes", "List the routes.", options->lists_routes),
             flag("--print-config", "Print all options, and where each comes from.",
                  options->prints_settings),
             flag("--check", "Load the models, listen, and end.", options->only_checks)}}})
    command.groups.push_back(std::move(group));
  command.has_settings = true;
  command.on_settings = [options](std::vector<Setting> settings) { options->settings = std::move(settings); };
  command.check = [options] { return settle(*options); };
  command.run = [options](Console& io) { return serve(io, *options); };
  return command;
}

}  // namespace parlance
