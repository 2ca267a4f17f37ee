// parlance eval: how many held-out questions a model answers right.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "assistant/cache_settling.h"
#include "assistant/conversation.h"
#include "assistant/default_model.h"
#include "cli/cache_cases.h"
#include "cli/eval_at_work.h"
#include "cli/eval_kv_report.h"
#include "cli/eval_verbs.h"
#include "cli/open_text.h"
#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "cli/verbs.h"
#include "eval/answer_perplexity.h"
#include "eval/answers.h"
#include "eval/cache_quality.h"
#include "eval/device_comparison.h"
#include "eval/questions.h"
#include "json/json.h"

namespace parlance {

namespace {

struct EvalOptions {
  ModelChoice model;
  std::string file;                // or kCacheSubject
  std::string cache_model;         // behind that word
  std::string text_file;           // for it
  std::vector<std::string> cases;  // of it; none: all
  std::vector<std::string> categories;
  int64_t limit = 0;
  int64_t max_tokens = 256;
  std::string against;  // a second device, or empty
  bool wants_perplexity = false;
  bool shows_failures = false;
  bool wants_json = false;
};

// What stands in place of a file to have the formats of caches compared.
constexpr std::string_view kCacheSubject = "kv";
// Questions of each category for it, when --limit does not say otherwise, and the categories.
constexpr int64_t kCacheQuestions = 20;
constexpr size_t kMostTextBytes = size_t{16} << 20;  // of --text
const std::vector<std::string> kCacheCategories = {"notes-256", "notes-1k", "notes-4k"};

Result<std::vector<EvalQuestion>> of_chosen_categories(const EvalOptions& options) {
  PARLANCE_TRY(std::vector<EvalQuestion> all, read_eval_set(options.file));
  auto chosen = of_categories(std::move(all), options.categories);
  if (!chosen) return fail(chosen.error().code, "--category: {}: {}", options.file, chosen.error().message);
  return chosen;
}

GenerateOptions greedy(const EvalOptions& options) {
  GenerateOptions generate_options;
  generate_options.sampling.temperature = 0;
  generate_options.max_tokens = options.max_tokens;
  return generate_options;
}

void print_scores(const Console& io, const EvalOptions& options, const AnswerScores& scores) {
  if (options.shows_failures) {
    for (const auto& [question, reply] : scores.wrong) {
      io.print("{} ({})\n  asked     {}\n  expected  {}\n  said      {}\n\n", printable(question->id),
               printable(question->category), printable(question->messages.back().content),
               printable(fmt::format("{}", fmt::join(question->answers, " | "))), printable(reply));
    }
  }
  Table table({{"category", Table::Align::left}, {"questions"}, {"right"}, {"share"}});
  const auto add = [&](const std::string& name, const AnswerScore& score) {
    table.add({name, fmt::format("{}", score.n), fmt::format("{}", score.n_right),
               fmt::format("{:.1f} %", score.share() * 100)});
  };
  for (const auto& [category, score] : scores.by_category) add(printable(category), score);
  if (scores.by_category.size() > 1) add("all", scores.total);
  io.write(table.text(io));
}

Json to_json(const AnswerScore& score) {
  return Json::object({{"questions", score.n}, {"right", score.n_right}, {"share", score.share()}});
}

Json to_json(const EvalOptions& options, const std::string& model, const AnswerScores& scores) {
  Json categories = Json::object();
  for (const auto& [category, score] : scores.by_category) categories.set(category, to_json(score));
  Json json = Json::object({{"model", model},
                            {"file", options.file},
                            {"cache_type_k", name_of(options.model.context.cache.k.format)},
                            {"cache_type_v", name_of(options.model.context.cache.v.format)},
                            {"all", to_json(scores.total)},
                            {"categories", categories}});
  if (!options.shows_failures) return json;
  Json failures = Json::array();
  for (const auto& [question, reply] : scores.wrong) {
    Json answers = Json::array();
    for (const std::string& answer : question->answers) answers.push(answer);
    failures.push(Json::object(
        {{"id", question->id}, {"category", question->category}, {"answers", answers}, {"reply", reply}}));
  }
  return json.set("failures", failures);
}

void print_comparison(const Console& io, const EvalOptions& options, const DeviceComparison& comparison) {
  for (const Difference& d : comparison.differences) {
    io.print("{} ({}): token {} differs, {} preferred its own by {:.2g}\n  {:<9} {}\n  {:<9} {}\n\n",
             printable(d.question->id), printable(d.question->category), d.position + 1, options.against,
             d.margin, options.model.devices.text, printable(d.reply), options.against,
             printable(d.reference));
  }
  io.print("{} of {} replies are the same on {} and {} ({} tokens)",
           comparison.n_questions - static_cast<int64_t>(comparison.differences.size()),
           comparison.n_questions, options.model.devices.text, options.against, comparison.n_tokens);
  if (comparison.differences.empty()) {
    io.print(".\n");
  } else {
    io.print("; the differences are {}.\n",
             comparison.is_explained() ? "close calls that rounding decides" : "more than rounding explains");
  }
}

Json to_json(const EvalOptions& options, const DeviceComparison& comparison) {
  Json differences = Json::array();
  for (const Difference& d : comparison.differences) {
    differences.push(Json::object({{"id", d.question->id},
                                   {"position", d.position},
                                   {"margin", d.margin},
                                   {"reply", d.reply},
                                   {"reference", d.reference}}));
  }
  return Json::object({{"device", options.model.devices.text},
                       {"against", options.against},
                       {"questions", comparison.n_questions},
                       {"tokens", comparison.n_tokens},
                       {"is_explained", comparison.is_explained()},
                       {"differences", differences}});
}

// The same questions on both devices; fails when rounding does not explain how the replies differ.
Result<int> compare(Console& io, const EvalOptions& options, const std::vector<EvalQuestion>& questions) {
  ModelChoice second = options.model;
  second.devices.text = options.against;
  second.devices.n_gpu_layers.reset();
  PARLANCE_TRY(const auto tested, open_text(options.model, io));
  PARLANCE_TRY(const auto reference, open_text(second, io));
  Result<DeviceComparison> comparison;
  {
    const EvalAtWork work(io);
    comparison =
        compare_replies(questions, greedy(options), tested->session(), reference->session(), work.watch());
  }
  if (!comparison) return tl::unexpected<Error>(comparison.error());
  if (options.wants_json) {
    io.print("{}\n", to_json(options, *comparison).pretty());
  } else {
    print_comparison(io, options, *comparison);
  }
  return comparison->is_explained() ? kSuccess : kFailure;
}

Result<int> print_perplexity(Console& io, const EvalOptions& options,
                             const std::vector<EvalQuestion>& questions, TextStream& text) {
  Result<AnswerPerplexity> measured;
  {
    const EvalAtWork work(io);
    measured = measure_perplexity(questions, text.session(), work.watch());
  }
  if (!measured) return tl::unexpected<Error>(measured.error());
  if (options.wants_json) {
    io.print("{}\n", Json::object({{"model", text.model().file().name()},
                                   {"questions", measured->n_questions},
                                   {"tokens", measured->n_tokens},
                                   {"nats", measured->nats},
                                   {"perplexity", measured->perplexity()}})
                         .pretty());
  } else {
    io.print("perplexity {:.5f} of the right answers to {} questions ({} tokens)\n", measured->perplexity(),
             measured->n_questions, measured->n_tokens);
  }
  return kSuccess;
}

// eval.jsonl beside the model, or the set of the bundled demo's own model.
std::filesystem::path questions_for(const std::filesystem::path& model) {
  const std::filesystem::path beside = model.parent_path() / "eval.jsonl";
  std::error_code error;
  if (std::filesystem::exists(beside, error)) return beside;
  const std::filesystem::path demo = find_demo_folder("text");
  if (demo.empty() || !std::filesystem::equivalent(demo, model.parent_path(), error)) return beside;
  const std::filesystem::path set = find_demo_set("text.jsonl");
  return set.empty() ? beside : set;
}

// What a cache is judged by: the text that was named, else questions beside the model or the demo's.
Result<CacheReading> cache_reading(EvalOptions& options, const std::filesystem::path& model, int64_t limit) {
  CacheReading reading;
  if (!options.text_file.empty()) {
    PARLANCE_TRY(reading.text, read_text_file(options.text_file, kMostTextBytes));
    return reading;
  }
  std::error_code error;
  options.file = questions_for(model).string();
  if (!std::filesystem::exists(options.file, error)) options.file = find_demo_set("text.jsonl").string();
  if (options.file.empty()) {
    return fail(ErrorCode::not_found, "there are no questions beside {}; name a text: --text FILE",
                model.string());
  }
  if (options.categories.empty()) options.categories = kCacheCategories;
  PARLANCE_TRY(const std::vector<EvalQuestion> all, of_chosen_categories(options));
  reading.questions = first_of_each(all, limit);
  return reading;
}

// Of all ways, f16 and those that were named.
Result<std::vector<CacheCase>> named_cases(std::vector<CacheCase> all,
                                           const std::vector<std::string>& names) {
  if (names.empty()) return all;
  for (const std::string& name : names) {
    if (std::ranges::find(all, name, &CacheCase::name) != all.end()) continue;
    std::vector<std::string> known;
    for (const CacheCase& c : all) known.push_back("\"" + c.name + "\"");
    return fail(ErrorCode::invalid_argument, "--case: \"{}\" is not one of {}", name, fmt::join(known, ", "));
  }
  std::erase_if(all, [&, first = all.front().name](const CacheCase& c) {
    return c.name != first && std::ranges::find(names, c.name) == names.end();
  });
  return all;
}

// Compares ways of keeping keys and values: those of a list, or the one that the options ask for.
Result<int> eval_kv(Console& io, EvalOptions& options) {
  if (!options.cache_model.empty()) options.model.files.folder = options.cache_model;
  PARLANCE_TRY(const std::filesystem::path model, find_model(options.model.files.folder));
  const int64_t limit = options.limit > 0 ? options.limit : kCacheQuestions;
  PARLANCE_TRY(const CacheReading reading, cache_reading(options, model, limit));
  DeviceShelf devices(options.model.devices.n_threads, options.model.devices.is_deterministic);
  PARLANCE_TRY(const TextWeights text, load_text_weights(options.model, devices, warnings_to(io)));
  const SessionOptions& session = text.options;
  const KvPolicy chosen = session.cache;
  const bool is_plain =
      chosen.k == KvCoding() && chosen.v == KvCoding() && !chosen.has_exact_pages() && chosen.layers.empty();
  std::vector<CacheCase> cases = cache_cases(kv_layout(text.model->hyper_parameters(), session));
  if (is_plain) {
    PARLANCE_TRY(cases, named_cases(std::move(cases), options.cases));
    PARLANCE_TRY(const CacheProbe probe, probe_of(*text.model, {}));
    for (CacheCase& c : cases) {
      SessionOptions own = session;
      own.cache = c.policy;
      c.policy = settled(probe, *text.model, own);
    }
  } else {
    cases = {cases.front(), {"as given", chosen}};
  }
  Result<std::vector<CacheQuality>> measured;
  {
    const EvalAtWork work(io);
    measured = measure_cache_quality(*text.model, session, reading, cases, work.watch());
  }
  PARLANCE_TRY(const std::vector<CacheQuality> results, std::move(measured));
  if (options.wants_json) {
    io.print("{}\n", Json::object({{"model", text.model->file().name()},
                                   {"questions_per_category", limit},
                                   {"results", to_json(results)}})
                         .pretty());
  } else {
    print_cache_quality(io, results);
  }
  return kSuccess;
}

Result<int> eval(Console& io, EvalOptions& options) {
  if (options.file == kCacheSubject) return eval_kv(io, options);
  // The questions first: a mistake in them shows before the model is loaded.
  if (options.file.empty()) {
    PARLANCE_TRY(const std::filesystem::path model, find_model(options.model.files.folder));
    options.file = questions_for(model).string();
    std::error_code error;
    if (!std::filesystem::exists(options.file, error)) {
      return fail(ErrorCode::not_found,
                  "there are no questions beside the model ({}); name a file: parlance eval FILE",
                  options.file);
    }
  }
  PARLANCE_TRY(std::vector<EvalQuestion> all, of_chosen_categories(options));
  const std::vector<EvalQuestion> questions = evenly_spread(std::move(all), options.limit);
  if (!options.against.empty()) return compare(io, options, questions);
  PARLANCE_TRY(const auto text, open_text(options.model, io));
  if (options.wants_perplexity) return print_perplexity(io, options, questions, *text);
  Result<AnswerScores> scores;
  {
    const EvalAtWork work(io);
    scores = score_answers(questions, greedy(options), text->session(), work.watch());
  }
  if (!scores) return tl::unexpected<Error>(scores.error());
  if (options.wants_json) {
    io.print("{}\n", to_json(options, text->model().file().name(), *scores).pretty());
  } else {
    print_scores(io, options, *scores);
  }
  return kSuccess;
}

}  // namespace

Command eval_command() {
  const auto options = std::make_shared<EvalOptions>();
  Command command;
  command.name = "eval";
  command.summary = "Score a model on questions with known answers.";
  command.description =
      "Puts every question of a file to the model, takes the likeliest token each time, and compares the "
      "reply with the answers that count as right; case, white space and the mark at the end do not matter. "
      "With --cache-type-k and --cache-type-v it shows what a compressed cache costs. With --against, the "
      "replies are compared with those of another device instead; with --perplexity, the model is not asked "
      "but shown the right answers.\n\n"
      "With kv in place of a file, every way of keeping keys and values is compared with f16 on questions "
      "about "
      "notes of 256 to 4096 tokens: perplexity of the right answers as a ratio, how far the predictions lie "
      "apart "
      "(KL divergence in nats, mean and 99th percentile), how often the likeliest token is the same, and the "
      "share "
      "of right replies. With --cache or --cache-type-k/-v, only that way; with --text, on a text of your "
      "own in place "
      "of questions. The verbs below judge other models.\n\n"
      "The file has one JSON object a line: {\"id\": \"…\", \"category\": \"…\", \"messages\": [{\"role\": "
      "\"user\", \"content\": \"…\"}], \"answers\": [\"…\"]}.";
  command.examples = {
      {"parlance eval", "the bundled model on its held-out questions"},
      {"parlance eval --category arithmetic --show-failures", "what it gets wrong in one category"},
      {"parlance eval -ctk q8_0 -ctv q8_0 --json", "with a compressed cache, for scripts"},
      {"parlance eval --perplexity -ctk q8_0 -ctv q8_0", "a finer measure of the same cost"},
      {"parlance eval kv", "what each cache format costs in quality"},
      {"parlance eval kv model.gguf --text book.txt", "the same for another model, on a text"},
      {"parlance eval --device vulkan --against cpu --limit 200", "does the GPU say what the CPU says?"}};
  Option file =
      text_option("FILE", "FILE",
                  "The questions, or kv. Without it: eval.jsonl beside the model, or the demo model's own.",
                  options->file);
  command.positionals = {
      file, text_option("MODEL", "MODEL", "With kv: the model, as --model.", options->cache_model)};
  command.groups = {
      {"Questions",
       {text_option("--text", "FILE", "With kv: a text to read in place of questions.", options->text_file),
        list_option(
            "--case", "OPTIONS",
            "With kv: of the ways to keep keys and values only f16 and this one, named as in the report: "
            "\"--cache balanced\".",
            options->cases),
        list_option("--category", "NAME", "Only questions of this category.", options->categories),
        number_option<int64_t>(
            "--limit", "N",
            "Only N questions, spread evenly over the file. 0: all; with kv 20 of each category.",
            options->limit, 0, int64_t{1} << 31),
        number_option<int64_t>("-n, --max-tokens, --n-predict", "N", "Longest reply, in tokens.",
                               options->max_tokens, 1, int64_t{1} << 20),
        text_option(
            "--against", "DEVICE",
            "Ask the questions on this device too, and list the replies that differ, each with the margin by "
            "which the two choices lay apart.",
            options->against),
        flag("--perplexity",
             "Show the model each question with its right answer, and print the perplexity of the answers: "
             "lower "
             "is better, 1 is certain.",
             options->wants_perplexity)}},
      model_group(options->model),
      {"Output",
       {flag("--show-failures", "Show every wrong reply beside what was expected.", options->shows_failures),
        json_option(options->wants_json)}}};
  command.run = [options](Console& io) { return eval(io, *options); };
  command.sub_verbs = {eval_asr_command(), eval_codec_command(), eval_drafting_command(), eval_tts_command(),
                       eval_vad_command()};
  return command;
}

}  // namespace parlance
