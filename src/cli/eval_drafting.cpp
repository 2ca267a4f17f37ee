// parlance eval drafting: what a drafter does for a model's answers.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "assistant/conversation.h"
#include "assistant/default_model.h"
#include "cli/eval_verbs.h"
#include "cli/open_text.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "eval/questions.h"
#include "json/json.h"
#include "measure/drafting.h"

namespace parlance {

namespace {

struct EvalDraftingOptions {
  ModelChoice model;
  std::string file;
  std::string answers_of;  // a model; empty: the one that is measured
  int64_t limit = 0;
  GenerateOptions generate;
};

struct Output {
  bool wants_json = false;
};

using Scores = std::map<std::string, DraftingScore>;

Result<std::vector<DraftingCase>> cases_of(const TextModel& model, const EvalDraftingOptions& options) {
  PARLANCE_TRY(const auto questions, read_eval_set(options.file));
  const auto n = static_cast<int64_t>(questions.size());
  const int64_t n_kept = options.limit > 0 ? std::min(options.limit, n) : n;
  std::vector<DraftingCase> cases;
  for (int64_t i = 0; i < n_kept; ++i) {
    const EvalQuestion& question = questions[static_cast<size_t>(i * n / n_kept)];
    PARLANCE_TRY(auto prompt, prompt_tokens(model, question.messages, /*has_thinking=*/false));
    cases.push_back({question.category, std::move(prompt)});
  }
  return cases;
}

// The same with the answers of another model, which is gone then.
Result<std::vector<DraftingCase>> cases_with_answers(const Console& io, const EvalDraftingOptions& options) {
  ModelChoice other = options.model;
  other.files.folder = options.answers_of;
  other.draft = {.uses_model = false};
  PARLANCE_TRY(const auto stream, open_text(other, io));
  PARLANCE_TRY(auto cases, cases_of(stream->model(), options));
  PARLANCE_CHECK(give_answers(stream->session(), cases, options.generate));
  return cases;
}

Result<void> check_vocabulary(const std::vector<DraftingCase>& cases, const TextModel& model) {
  const int64_t n_vocab = model.model().n_vocab();
  for (const DraftingCase& one : cases) {
    for (const auto* tokens : {&one.prompt, &one.answer}) {
      const auto most = std::ranges::max_element(*tokens);
      if (most == tokens->end() || *most < n_vocab) continue;
      return fail(ErrorCode::invalid_argument,
                  "--answers-of: its answers have token {}, and {} has {} tokens; name a model with no more",
                  *most, model.file().name(), n_vocab);
    }
  }
  return {};
}

void print_scores(const Console& io, const Scores& scores) {
  Table table({{"category", Table::Align::left},
               {"answers"},
               {"different"},
               {"tokens a step"},
               {"a verification"},
               {"accepted"},
               {"speed, plain = 1"}});
  const auto add = [&](const std::string& name, const DraftingScore& score) {
    table.add(
        {name, fmt::format("{}", score.n_answers), fmt::format("{}", score.n_different),
         fmt::format("{:.2f}", score.tokens_a_step()), fmt::format("{:.2f}", score.tokens_a_verification()),
         fmt::format("{:.0f} %", 100 * score.accepted_share()), fmt::format("{:.2f}", score.speed_up())});
  };
  for (const auto& [category, score] : scores) add(category, score);
  add("all", sum_of(scores));
  io.print("{}", table.text(io));
}

Json to_json(const DraftingScore& score) {
  return Json::object({{"answers", score.n_answers},
                       {"different", score.n_different},
                       {"tokens", score.n_tokens},
                       {"steps", score.counts.n_steps},
                       {"drafted", score.counts.n_drafted},
                       {"accepted", score.counts.n_accepted},
                       {"verifications", score.counts.n_verified},
                       {"tokens_a_step", score.tokens_a_step()},
                       {"tokens_a_verification", score.tokens_a_verification()},
                       {"plain_ms", score.plain_ms},
                       {"drafted_ms", score.drafted_ms},
                       {"speed_up", score.speed_up()}});
}

Result<int> eval_drafting(const Console& io, EvalDraftingOptions& options, const Output& output) {
  if (options.file.empty()) options.file = find_demo_set("text.jsonl").string();
  if (options.file.empty()) {
    return fail(
        ErrorCode::invalid_argument,
        "there is no models/demo-eval/text.jsonl near this folder or the program; name a file of questions");
  }
  const InterruptGuard guard;
  options.generate.work.cancellation = guard.ticket();
  std::vector<DraftingCase> cases;
  if (!options.answers_of.empty()) {
    PARLANCE_TRY(cases, cases_with_answers(io, options));
  }
  PARLANCE_TRY(const auto stream, open_text(options.model, io));
  Session& session = stream->session();
  if (session.context().options().n_draft == 0) {
    return fail(
        ErrorCode::invalid_argument,
        "nothing drafts for this model: name a drafter's file or lookup with --draft, or a bundle with a "
        "drafter with --model");
  }
  options.generate.draft.is_required = options.model.draft.is_required;
  if (options.answers_of.empty()) {
    PARLANCE_TRY(cases, cases_of(stream->model(), options));
  } else {
    PARLANCE_CHECK(check_vocabulary(cases, stream->model()));
  }
  PARLANCE_TRY(const Scores scores, measure_drafting(session, cases, options.generate, [&](int64_t n_done) {
                 if (io.err_is_terminal) io.write_progress(fmt::format("{}/{}", n_done, cases.size()));
               }));
  if (io.err_is_terminal) io.write_progress("");
  if (output.wants_json) {
    Json by_category = Json::object();
    for (const auto& [category, score] : scores) by_category.set(category, to_json(score));
    io.print("{}\n", Json::object({{"all", to_json(sum_of(scores))}, {"by_category", by_category}}).pretty());
  } else {
    print_scores(io, scores);
  }
  return sum_of(scores).n_different == 0 ? kSuccess : kFailure;
}

}  // namespace

Command eval_drafting_command() {
  const auto options = std::make_shared<EvalDraftingOptions>();
  const auto output = std::make_shared<Output>();
  options->generate.sampling.temperature = 0;
  options->generate.max_tokens = 256;
  Command command;
  command.name = "eval drafting";
  command.summary = "Score a drafter: tokens a step, and speed beside answers without drafts.";
  command.description =
      "Every question is answered twice, with drafts and without, the one or the other first by turns. The "
      "answers must "
      "be the same; where one is not, the verb fails. Tokens a step counts all steps of an answer, those "
      "without a draft too; a verification is a step with one. Times are of decoding.\n\n"
      "The file is one of 'parlance eval': one JSON object a line, of which \"category\" and \"messages\" "
      "are read.";
  command.examples = {
      {"parlance eval drafting", "the bundled drafter on the demo's questions"},
      {"parlance eval drafting --draft lookup --limit 200", "what prompt lookup does for them"},
      {"parlance eval drafting -m model.gguf --draft drafter.gguf questions.jsonl", "another pair"},
      {"parlance eval drafting -m random.gguf --answers-of models/demo --draft lookup",
       "what prompt lookup would do for a model of that shape"}};
  command.positionals = {
      text_option("FILE", "FILE", "The questions. Without it: the demo's.", options->file)};
  command.groups = {
      {"Questions",
       {number_option<int64_t>("--limit", "N", "Only N questions, spread evenly over the file. 0: all.",
                               options->limit, 0, int64_t{1} << 31),
        number_option<int64_t>("-n, --max-tokens, --n-predict", "N", "Longest answer, in tokens.",
                               options->generate.max_tokens, 1, int64_t{1} << 20),
        text_option(
            "--answers-of", "MODEL",
            "Have the model say what this one says, token by token: for times of a model whose weights "
            "say nothing.",
            options->answers_of),
        number_option<float>("--temp, --temperature", "X",
                             "How adventurous: 0 always takes the likeliest token. Both answers draw alike.",
                             options->generate.sampling.temperature, 0, 100)}},
      model_group(options->model),
      draft_group(options->model, options->generate.draft),
      {"Output", {json_option(output->wants_json)}}};
  command.run = [options, output](Console& io) { return eval_drafting(io, *options, *output); };
  return command;
}

}  // namespace parlance
