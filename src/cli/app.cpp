#include "cli/app.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "assistant/wording.h"
#include "base/log.h"
#include "cli/fetch_models.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/help.h"
#include "cli/verbs.h"
#include "text/nearest.h"

namespace parlance {

namespace {

int usage_error(const Console& io, const std::string& message, const std::string& help) {
  io.error(fmt::format("{}; try: {}", message, help));
  return kUsage;
}

int unknown_verb(const Console& io, const std::vector<Command>& commands, const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  const std::string guess = nearest(word, names);
  const std::string kind = word.starts_with('-') ? "option" : "verb";
  return usage_error(
      io,
      fmt::format("there is no {} '{}'{}", kind, word, guess.empty() ? "" : ", did you mean " + guess + "?"),
      "parlance --help");
}

// While it lives, what rooms below log names parameters as this program's flags. Any thread may log, so lines
// go to standard error each in one piece, beside the console.
class LogsInFlags {
 public:
  LogsInFlags() : before_(set_log_sink(write)) {}
  ~LogsInFlags() { set_log_sink(std::move(before_)); }
  LogsInFlags(const LogsInFlags&) = delete;
  LogsInFlags& operator=(const LogsInFlags&) = delete;

 private:
  static void write(LogLevel level, std::string_view message) {
    const std::string line = fmt::format("parlance: {}{}\n", level < LogLevel::error ? "warning: " : "",
                                         printable(worded(message, Door::command_line)));
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

  LogSink before_;
};

// Options that every verb has.
OptionGroup general_group(bool& no_colour) {
  return {
      "General",
      {flag("--no-color", "No colours, even at a terminal; the environment variable NO_COLOR says the same.",
            no_colour)}};
}

int exit_code_of(const Error& error) {
  return error.code == ErrorCode::cancelled ? kInterrupted : kFailure;
}

int run_command(Command& command, std::span<const std::string> arguments, Console& io) {
  bool no_colour = false;
  command.groups.push_back(general_group(no_colour));
  const auto parsed = parse_command_line(command, arguments);
  if (!parsed)
    return usage_error(io, parsed.error().message, fmt::format("parlance {} --help", command.name));
  if (parsed->wants_help) {
    io.write(help_of(io, command));
    return kSuccess;
  }
  if (no_colour) io.out_has_colour = io.err_has_colour = false;
  const Result<void> fetched = fetch_models(command, io);
  const Result<int> code = fetched ? command.run(io) : tl::unexpected(fetched.error());
  if (code) return *code;
  io.error(code.error().message);
  return exit_code_of(code.error());
}

// The sub-verb that the first of the arguments names, or null.
Command* find_sub_verb(Command& command, std::span<const std::string> arguments) {
  if (arguments.empty()) return nullptr;
  const std::string name = command.name + " " + arguments.front();
  const auto found = std::find_if(command.sub_verbs.begin(), command.sub_verbs.end(),
                                  [&](const Command& sub) { return sub.name == name; });
  return found == command.sub_verbs.end() ? nullptr : &*found;
}

int dispatch(std::span<const std::string> arguments, Console& io) {
  std::vector<Command> commands = all_commands();
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  if (first == "--version") {
    io.print("parlance {}\n", PARLANCE_VERSION);
    return kSuccess;
  }
  const bool is_help = first == "--help" || first == "-h" || first == "help";
  if (is_help && arguments.size() < 2) {
    io.write(overview(io, commands));
    return kSuccess;
  }
  const std::string& verb = is_help ? arguments[1] : first;
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == verb; });
  if (found == commands.end()) return unknown_verb(io, commands, verb);
  Command* command = &*found;
  std::span<const std::string> rest = arguments.subspan(is_help ? 2 : 1);
  if (Command* sub = find_sub_verb(*command, rest)) {
    command = sub;
    rest = rest.subspan(1);
  }
  const std::vector<std::string> ask_help = {"--help"};
  return run_command(*command, is_help ? std::span<const std::string>(ask_help) : rest, io);
}

}  // namespace

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  commands.push_back(chat_command());
  commands.push_back(talk_command());
  commands.push_back(listen_command());
  commands.push_back(say_command());
  commands.push_back(voice_command());
  commands.push_back(serve_command());
  commands.push_back(pull_command());
  commands.push_back(info_command());
  commands.push_back(cache_command());
  commands.push_back(bundle_command());
  commands.push_back(tokenize_command());
  commands.push_back(convert_command());
  commands.push_back(quantize_command());
  commands.push_back(bench_command());
  commands.push_back(eval_command());
  commands.push_back(verify_command());
  commands.push_back(smoke_command());
  commands.push_back(doctor_command());
  return commands;
}

int run_cli(std::span<const std::string> arguments, Console& io) {
  int code = kFailure;
  const LogsInFlags logs;
  try {
    code = dispatch(arguments, io);
  } catch (const std::bad_alloc&) {
    io.error("there is not enough memory; close other programs or use a smaller model or context");
  }
  if (io.flush()) return code;
  // A reader that has seen enough (head, less) needs no telling.
  if (io.output_error != EPIPE) {
    io.error(fmt::format("standard output cannot be written: {}; free some space or choose another place",
                         io.output_error != 0 ? std::strerror(io.output_error) : "unknown reason"));
  }
  return code == kSuccess ? kFailure : code;
}

}  // namespace parlance
