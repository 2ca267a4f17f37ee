#include "cli/repl.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "assistant/conversation.h"
#include "base/os/file.h"
#include "cli/answer_printer.h"
#include "cli/answer_report.h"
#include "cli/terminal/help.h"
#include "cli/terminal/input.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/units.h"
#include "text/nearest.h"

namespace parlance {

namespace {

constexpr size_t kConversationLimitBytes = size_t{64} << 20;

std::vector<Option> settings_of(AnswerChoice& answer) {
  std::vector<Option> settings = sampling_group(answer).options;
  for (Option& option : answer_group(answer).options) settings.push_back(std::move(option));
  return settings;
}

class Repl {
 public:
  Repl(const Console& io, LineReader& lines, TextStream& text, const AnswerChoice& answer,
       const PromptChoice& prompt)
      : io_(io),
        lines_(lines),
        text_(text),
        answer_(answer),
        settings_(settings_of(answer_)),
        conversation_(text.session(), prompt.system, prompt.has_thinking) {
    answer_.seed = seed_of(answer_);
  }

  int run();

  struct Command {
    std::string_view name;
    std::string_view argument;
    std::string_view help;
    void (Repl::*run)(const std::string& argument);
  };
  static const std::vector<Command>& commands();

 private:
  void greet() const;
  LineReader::Line read_message();
  void obey(const std::string& line);
  void ask(std::string question);
  void report(const Conversation::Answer& answer);

  void help(const std::string&);
  void clear(const std::string&);
  void system(const std::string& text);
  void undo(const std::string&);
  void retry(const std::string&);
  void save(const std::string& path);
  void load(const std::string& path);
  void stats(const std::string&);
  void set(const std::string& argument);
  void exit(const std::string&) { is_over_ = true; }

  const Console& io_;
  LineReader& lines_;
  TextStream& text_;
  AnswerChoice answer_;
  std::vector<Option> settings_;  // what /set changes, written to answer_
  Conversation conversation_;
  std::optional<GenerateResult> last_;
  bool is_over_ = false;
};

const std::vector<Repl::Command>& Repl::commands() {
  static const std::vector<Command> kCommands = {
      {"/help", "", "this list", &Repl::help},
      {"/clear", "", "forget the conversation, keep the system message", &Repl::clear},
      {"/system", "[TEXT]", "show or change the system message", &Repl::system},
      {"/undo", "", "forget the last question and its answer", &Repl::undo},
      {"/retry", "", "answer the last question once more", &Repl::retry},
      {"/save", "FILE", "write the conversation to a file", &Repl::save},
      {"/load", "FILE", "go on with a conversation from a file", &Repl::load},
      {"/stats", "", "speed of the last answer, and how full the context is", &Repl::stats},
      {"/set", "[NAME VALUE]", "show or change how words are chosen: /set temp 0.5", &Repl::set},
      {"/exit", "", "leave; so does Ctrl-D", &Repl::exit},
  };
  return kCommands;
}

void Repl::greet() const {
  const Session& session = text_.session();
  io_.print("{}  {} of weights, {} tokens of context, device {}\n",
            io_.styled(Style::bold, printable(display_name(text_.model()))),
            format_bytes(static_cast<double>(text_.model().file().data().size())), session.n_ctx(),
            text_.region().device().name());
  const std::string hint = wrap(
      "/help lists the commands, \\ at the end of a line continues it, Ctrl-C stops an answer, Ctrl-D "
      "leaves.",
      static_cast<size_t>(io_.width), 0);
  io_.print("{}\n\n", io_.styled(Style::dim, hint));
}

// One message, over several lines when they end with a backslash.
LineReader::Line Repl::read_message() {
  io_.flush();
  LineReader::Line message = lines_.read("> ");
  while (message.status == LineReader::Status::line && message.text.ends_with('\\')) {
    message.text.back() = '\n';
    LineReader::Line next = lines_.read(". ");
    if (next.status != LineReader::Status::line) return next;
    message.text += next.text;
  }
  return message;
}

int Repl::run() {
  greet();
  bool was_interrupted = false;
  while (!is_over_ && io_.out.good()) {
    const LineReader::Line message = read_message();
    if (message.status == LineReader::Status::end) break;
    if (message.status == LineReader::Status::interrupted) {
      if (std::exchange(was_interrupted, true)) io_.note("Ctrl-D or /exit leaves.");
      continue;
    }
    was_interrupted = false;
    const size_t begin = message.text.find_first_not_of(" \t\n");
    if (begin == std::string::npos) continue;
    lines_.remember(message.text);
    const std::string text = message.text.substr(begin);
    if (text.starts_with('/') && !text.starts_with("//")) {
      obey(text);
    } else {
      ask(as_utf8(io_, "the question", text.starts_with("//") ? text.substr(1) : text));
    }
  }
  return kSuccess;
}

void Repl::obey(const std::string& line) {
  const size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string name = line.substr(0, end);
  const size_t first = line.find_first_not_of(" \t", end);
  const size_t last = line.find_last_not_of(" \t\n");
  const std::string argument = first == std::string::npos ? "" : line.substr(first, last - first + 1);
  for (const Command& command : commands()) {
    if (command.name != name && !(name == "/quit" && command.name == "/exit")) continue;
    if (command.argument.empty() && !argument.empty()) {
      return io_.note(fmt::format("{} takes nothing after it.", name));
    }
    return (this->*command.run)(argument);
  }
  const std::string guess = nearest(name, repl_commands());
  io_.note(guess.empty()
               ? fmt::format("There is no command {}; /help lists them. To say it, begin with //.", name)
               : fmt::format("There is no command {}; did you mean {}?", name, guess));
}

void Repl::ask(std::string question) {
  const InterruptGuard guard;
  AnswerPrinter printer(io_, guard);
  GenerateOptions options = answer_.generate;
  options.sampling.seed = *answer_.seed;
  options.work.cancellation = guard.ticket();
  const auto answer = conversation_.ask(std::move(question), options, std::ref(printer));
  printer.finish();
  if (!answer) return io_.error(answer.error().message);
  report(*answer);
  last_ = answer->result;
  io_.print("\n");
}

// What the person should know about the answer that its text does not say.
void Repl::report(const Conversation::Answer& answer) {
  if (answer.n_left_out > 0) {
    io_.note(
        fmt::format("(The context of {} tokens was full: the oldest {} messages are no longer known to the "
                    "model. /clear starts afresh, --ctx-size makes room.)",
                    text_.session().n_ctx(), answer.n_left_out));
  }
  if (answer.result.is_cut && answer.result.finish_reason != FinishReason::cancelled)
    io_.note("(The answer is cut off before it is in the form that was asked for.)");
  switch (answer.result.finish_reason) {
    case FinishReason::cancelled:
      return io_.note(answer.result.text.empty()
                          ? "(Stopped before the first word; the question is forgotten.)"
                          : "(Stopped.)");
    case FinishReason::context:
      return io_.note(
          fmt::format("(The context of {} tokens is full; the answer ends here.)", text_.session().n_ctx()));
    case FinishReason::length:
      return io_.note(
          fmt::format("(Ended after {} tokens, as --max-tokens asks.)", answer.result.tokens.size()));
    case FinishReason::stop:
      return;
  }
}

void Repl::help(const std::string&) {
  for (const Command& command : commands()) {
    io_.print("  {:<22}{}\n", fmt::format("{} {}", command.name, command.argument), command.help);
  }
  io_.print("  {:<22}{}\n", "//…", "a message that begins with a slash");
}

void Repl::clear(const std::string&) {
  conversation_.clear();
  last_.reset();
  io_.note("The conversation is forgotten.");
}

void Repl::system(const std::string& text) {
  if (text.empty()) {
    return io_.note(conversation_.system().empty() ? "There is no system message; /system TEXT sets one."
                                                   : printable(conversation_.system(), Lines::many));
  }
  conversation_.set_system(as_utf8(io_, "the system message", text));
  io_.note("The system message is set; it holds from the next answer on.");
}

void Repl::undo(const std::string&) {
  const std::string question = conversation_.undo();
  if (question.empty()) return io_.note("There is nothing to forget.");
  io_.note(fmt::format("Forgotten: {}", printable(question)));
}

void Repl::retry(const std::string&) {
  std::string question = conversation_.undo();
  if (question.empty()) return io_.note("There is no question to answer again.");
  ++*answer_.seed;  // the same seed would give the same answer
  ask(std::move(question));
}

void Repl::save(const std::string& path) {
  if (path.empty()) return io_.note("/save needs the name of a file.");
  auto file = AtomicFile::create(path);
  auto written = file ? file->write(conversation_.to_json()) : tl::unexpected<Error>(file.error());
  if (written) written = file->commit();
  if (!written) return io_.error(written.error().message);
  io_.note(fmt::format("{} messages are in {}.", conversation_.messages().size(), path));
}

void Repl::load(const std::string& path) {
  if (path.empty()) return io_.note("/load needs the name of a file.");
  const auto text = read_text_file(path, kConversationLimitBytes);
  if (!text) return io_.error(text.error().message);
  const auto restored = conversation_.restore(*text);
  if (!restored) {
    return io_.error(fmt::format("{}: {}; name a file that /save wrote", path, restored.error().message));
  }
  last_.reset();
  io_.note(fmt::format("Going on after {} messages.", conversation_.messages().size()));
}

void Repl::stats(const std::string&) {
  const Session& session = text_.session();
  if (last_) io_.print("  last answer  {}\n", summary_of(*last_));
  const auto n_tokens = static_cast<int64_t>(session.tokens().size());
  io_.print("  context      {} of {} tokens, {} of keys and values\n", n_tokens, session.n_ctx(),
            format_bytes(static_cast<double>(session.kv_bytes_per_token()) * static_cast<double>(n_tokens)));
  io_.print("  messages     {}\n", conversation_.messages().size());
}

void Repl::set(const std::string& argument) {
  const SamplingOptions& s = answer_.generate.sampling;
  if (argument.empty()) {
    io_.print(
        "  temp {}, top-k {}, top-p {}, min-p {}, repeat-penalty {}, presence-penalty {},\n"
        "  frequency-penalty {}, repeat-last-n {}, seed {}\n",
        s.temperature, s.top_k, s.top_p, s.min_p, s.repetition_penalty, s.presence_penalty,
        s.frequency_penalty, s.penalty_last_n, *answer_.seed);
    return;
  }
  const size_t space = argument.find_first_of(" \t=");
  const std::string name = argument.substr(0, space);
  const size_t value = space == std::string::npos ? space : argument.find_first_not_of(" \t=", space);
  std::vector<std::string> known;
  for (const Option& option : settings_) {
    for (const std::string& spelling : spellings(option)) {
      if (!spelling.starts_with("--")) continue;
      known.push_back(spelling.substr(2));
      if (known.back() != name) continue;
      if (value == std::string::npos && !option.value.empty()) {
        return io_.note(fmt::format("/set {} needs a value ({}).", name, option.value));
      }
      const AnswerChoice before = answer_;
      auto done = option.set(value == std::string::npos ? "true" : argument.substr(value));
      if (done) done = check_answer(answer_);
      if (!done) {
        answer_ = before;
        return io_.error(done.error().message);
      }
      return io_.note(fmt::format("{} is set.", name));
    }
  }
  const std::string guess = nearest(name, known);
  io_.note(fmt::format("There is no setting {}; {}", name,
                       guess.empty() ? fmt::format("choose one of {}.", fmt::join(known, ", "))
                                     : fmt::format("did you mean {}?", guess)));
}

}  // namespace

std::vector<std::string> repl_commands() {
  std::vector<std::string> names;
  for (const auto& command : Repl::commands()) names.emplace_back(command.name);
  return names;
}

Result<int> run_repl(const Console& io, LineReader& lines, TextStream& text, const AnswerChoice& answer,
                     const PromptChoice& prompt) {
  return Repl(io, lines, text, answer, prompt).run();
}

}  // namespace parlance
