// parlance chat: one answer to a prompt, or a conversation at the terminal.
#include <filesystem>
#include <functional>
#include <memory>

#include "assistant/answer_form.h"
#include "assistant/conversation.h"
#include "cli/answer_printer.h"
#include "cli/answer_report.h"
#include "cli/demo_note.h"
#include "cli/open_text.h"
#include "cli/repl.h"
#include "cli/terminal/input.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/line_reader.h"
#include "cli/terminal/options.h"
#include "cli/verbs.h"

namespace parlance {

namespace {

struct ChatOptions {
  ModelChoice model;
  AnswerChoice answer;
  PromptChoice prompt;
  AnswerForm form;
  std::shared_ptr<const Grammar> grammar;  // of the form
  std::string cache_file;
  bool wants_json = false;
  bool is_verbose = false;
};

Result<void> check(ChatOptions& options) {
  options.answer.generate.draft.is_required = options.model.draft.is_required;
  PARLANCE_CHECK(check_input(options.prompt.text, options.prompt.file));
  if (options.prompt.is_raw && !options.prompt.system.empty()) {
    return fail(ErrorCode::invalid_argument, "--system is part of a chat template; leave it or --raw out");
  }
  PARLANCE_TRY(options.grammar, grammar_of(options.form));
  return check_answer(options.answer);
}

// The prompt of --raw as it is, or a question under the chat template.
Result<std::vector<Token>> tokens_of(const TextModel& text, const PromptChoice& prompt,
                                     const std::string& question) {
  if (prompt.is_raw) return text.tokenizer().encode(question, {.add_special = true, .parse_special = true});
  std::vector<Message> messages;
  if (!prompt.system.empty()) messages.push_back({"system", prompt.system});
  messages.push_back({"user", question});
  return prompt_tokens(text, messages, prompt.has_thinking);
}

void warn_of_end(const Console& io, const GenerateResult& result, const Session& session) {
  if (result.is_cut && result.finish_reason != FinishReason::cancelled) {
    io.warn(
        fmt::format("the answer is cut off after {} tokens and is not in the form that was asked for; "
                    "raise --max-tokens or --ctx-size",
                    result.tokens.size()));
  }
  if (result.finish_reason != FinishReason::context) return;
  io.warn(fmt::format("the context of {} tokens is full and the answer ends there; raise --ctx-size for more",
                      session.n_ctx()));
}

Result<void> follow_form(ChatOptions& options, const TextModel& text) {
  return follow(options.grammar, text, options.prompt.has_thinking, options.answer.generate);
}

// Takes up what an earlier call left in the file, as far as the prompt begins like it. Another text there is
// nothing to be warned of: it is about to be replaced.
void restore_cache(const Console& io, const std::string& file, Session& session,
                   std::span<const Token> tokens) {
  std::error_code error;  // what keeps a file from being found keeps it from being written, which is reported
  if (file.empty() || !std::filesystem::exists(file, error)) return;
  const auto restored = session.restore(file, tokens);
  if (restored || session.context().snapshot_refusals().count(SnapshotRefusal::other_text) > 0) return;
  io.warn(printable(restored.error().message));
}

// One answer, streamed unless it is wanted as JSON.
Result<int> answer_once(const Console& io, const ChatOptions& options, TextStream& text,
                        const std::string& question) {
  const InterruptGuard guard;
  Session& session = text.session();
  PARLANCE_TRY(const std::vector<Token> tokens, tokens_of(text.model(), options.prompt, question));
  PARLANCE_CHECK(check_fits(session, tokens.size()));
  GenerateOptions generate_options = options.answer.generate;
  generate_options.sampling.seed = seed_of(options.answer);
  generate_options.work.cancellation = guard.ticket();

  AnswerPrinter printer(io, guard);
  const OnText on_text = options.wants_json ? OnText() : OnText(std::ref(printer));
  restore_cache(io, options.cache_file, session, tokens);
  PARLANCE_TRY(const GenerateResult result, generate(session, tokens, generate_options, on_text));
  if (options.wants_json) {
    io.print("{}\n", to_json(result, display_name(text.model()), generate_options.sampling.seed).pretty());
  } else {
    printer.finish();
  }
  warn_of_end(io, result, session);
  if (!options.cache_file.empty()) PARLANCE_CHECK(session.save(options.cache_file));
  if (options.is_verbose) io.note(summary_of(result));
  return guard.interrupted() ? kInterrupted : kSuccess;
}

Result<int> chat(Console& io, ChatOptions& options) {
  const bool is_conversation =
      !options.prompt.text && options.prompt.file.empty() && io.in_is_terminal && io.out_is_terminal;
  if (is_conversation && (options.prompt.is_raw || options.wants_json || !options.cache_file.empty())) {
    return fail(ErrorCode::invalid_argument,
                "{} needs a prompt; give one with --prompt, --file or standard input",
                options.prompt.is_raw ? "--raw"
                : options.wants_json  ? "--json"
                                      : "--cache-file");
  }
  options.prompt.system = as_utf8(io, "--system", options.prompt.system);
  if (is_conversation) {
    PARLANCE_TRY(const auto stream, open_text(options.model, io));
    PARLANCE_CHECK(follow_form(options, stream->model()));
    note_small_model(io, options.model.files);
    const auto lines = make_terminal_reader(
        {.history_file = default_history_file(), .words = repl_commands(), .has_colour = io.out_has_colour});
    return run_repl(io, *lines, *stream, options.answer, options.prompt);
  }
  PARLANCE_TRY(std::optional<std::string> text, read_input(io, options.prompt.text, options.prompt.file));
  if (!text) return fail(ErrorCode::invalid_argument, "there is no prompt; give one with --prompt or --file");
  if (!options.prompt.is_raw) {
    while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  }
  if (text->empty()) return fail(ErrorCode::invalid_argument, "the prompt is empty; give it some text");
  const std::string question = as_utf8(io, "the prompt", *std::move(text));
  PARLANCE_TRY(const auto stream, open_text(options.model, io));
  PARLANCE_CHECK(follow_form(options, stream->model()));
  return answer_once(io, options, *stream, question);
}

}  // namespace

Command chat_command() {
  const auto options = std::make_shared<ChatOptions>();
  Command command;
  command.name = "chat";
  command.summary = "Talk with a model, or ask it one thing.";
  command.description =
      "At a terminal this is a conversation: type a question, read the answer as it is made, go on; /help "
      "lists the commands. With --prompt, --file, or text on standard input it gives one answer and ends: "
      "the answer goes to standard output, everything else to standard error.";
  command.examples = {
      {"parlance chat", "a conversation with the bundled model"},
      {"parlance chat -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0", "with a real model of the hub, fetched once"},
      {"parlance chat -m Qwen3-0.6B-Q8_0.gguf --system \"Answer in one sentence.\"",
       "with another model, told how to answer"},
      {"parlance chat -p \"What is the capital of France?\" --greedy", "one answer, the same every time"},
      {"git log -5 | parlance chat --json", "a question from standard input, the answer as JSON"},
      {"parlance chat -p \"Is Oslo in Norway?\" --regex \"yes|no\"",
       "an answer that can only be one of two"}};
  command.groups = {
      {"Prompt",
       {prompt_option(options->prompt.text, "What to say to the model; - reads standard input."),
        file_option(options->prompt.file, "A file with the prompt; - reads standard input."),
        text_option("--system", "TEXT", "What the model is told before the conversation.",
                    options->prompt.system),
        flag("--thinking", "Let a model that can think before it answers.", options->prompt.has_thinking),
        flag("--raw", "Continue the prompt as plain text, without the model's chat template.",
             options->prompt.is_raw),
        text_option("--cache-file", "FILE",
                    "Keep what was computed in this file: a later call whose prompt begins the same goes on "
                    "from there.",
                    options->cache_file)}},
      answer_group(options->answer),
      form_group(options->form),
      sampling_group(options->answer),
      model_group(options->model),
      draft_group(options->model, options->answer.generate.draft),
      {"Output",
       {json_option(options->wants_json),
        flag("-v, --verbose", "Say at the end how many tokens there were and how fast.",
             options->is_verbose)}}};
  command.check = [options] { return check(*options); };
  command.run = [options](Console& io) { return chat(io, *options); };
  return command;
}

}  // namespace parlance
