// parlance bench: speed, beside what the machine allows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>

#include "assistant/default_model.h"
#include "cli/bench_listen.h"
#include "cli/bench_say.h"
#include "cli/bench_serve.h"
#include "cli/open_text.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/units.h"
#include "cli/verbs.h"
#include "json/json.h"
#include "kernels/cpu/cpu_device.h"
#include "measure/device_peaks.h"
#include "measure/draft_speed.h"
#include "measure/many_answers.h"
#include "measure/system_info.h"
#include "measure/text_loading.h"
#include "measure/text_steps.h"
#include "measure/verification.h"

namespace parlance {

namespace {

struct BenchOptions {
  ModelChoice model;
  std::vector<int64_t> n_threads = {0};
  std::vector<int64_t> prompt_sizes = {512};
  std::vector<int64_t> answer_sizes = {64};
  std::vector<int64_t> depths = {0, 1024, 4096};
  bool has_default_prompts = true, has_default_answers = true, has_default_depths = true;
  std::vector<int64_t> n_sequences = {1};
  AnswerChoice answers;  // how their tokens are chosen
  std::vector<int64_t> n_verified = {0};
  int64_t n_arriving = 0;
  bool names_drafter = false;  // --draft was given
  bool has_oracle = false;
  DraftOptions draft;
  bool draws() const { return answers.generate.sampling.temperature > 0; }
  bool has_drafts() const { return names_drafter || has_oracle; }
  int n_repetitions = 3;
  bool times_loading = false;
  bool wants_json = false;
  std::string subject;  // empty, kListen, kSay or kServe
  ListenBench listen;   // what only these have
  bool no_live = false;
  SayBench say;
  ServeBench serve;
  std::vector<std::string> masks;
  std::vector<std::string> qualities;
};

// What stands behind the verb to have speech recognition, synthesis or a server timed.
constexpr std::string_view kListen = "listen", kSay = "say", kServe = "serve";

std::vector<BenchTest> tests_of(const BenchOptions& options) {
  std::vector<BenchTest> tests;
  const auto add = [&](BenchTest::Kind kind, const std::vector<int64_t>& sizes, int64_t depth) {
    for (const int64_t n : sizes) {
      if (n > 0) tests.push_back({kind, n, depth});
    }
  };
  for (const int64_t depth : options.depths) add(BenchTest::Kind::prefill, options.prompt_sizes, depth);
  for (const int64_t n : options.n_sequences) {
    for (const int64_t depth : options.depths) {
      const size_t n_before = tests.size();
      add(BenchTest::Kind::decode, options.answer_sizes, depth);
      for (size_t i = n_before; i < tests.size(); ++i) {
        tests[i].n_sequences = n;
        if (options.draws()) tests[i].sampling = options.answers.generate.sampling;
      }
    }
  }
  for (const int64_t depth : options.depths) add(BenchTest::Kind::verify, options.n_verified, depth);
  return tests;
}

// Tokens that a test computes in one of its runs.
double n_computed(const BenchTest& test) {
  const bool verifies = test.kind == BenchTest::Kind::verify;
  return static_cast<double>(test.n_tokens * (verifies ? kVerifications : test.n_sequences));
}

Result<BenchResult> run(Session& session, const BenchTest& test, int64_t n_batch, int n_repetitions,
                        const Work& work) {
  if (test.kind == BenchTest::Kind::verify) return run_verification(session, test, n_repetitions, work);
  return test.kind == BenchTest::Kind::decode ? run_answers(session, test, n_repetitions, work)
                                              : run_prefill(session, test, n_batch, n_repetitions, work);
}

int64_t longest(const std::vector<BenchTest>& tests) {
  int64_t n_ctx = 1;
  for (const BenchTest& test : tests) n_ctx = std::max(n_ctx, test.n_ctx());
  return n_ctx;
}

// What answers that a prompt arrives beside say more than others: some while it is read, at most as many
// tokens as it has, and as many behind it as before.
int64_t room_for_arrival(const std::vector<BenchTest>& tests, int64_t n_arriving) {
  int64_t n_tokens = 0;
  for (const BenchTest& test : tests) n_tokens = std::max(n_tokens, test.n_tokens);
  return n_arriving + 2 * n_tokens;
}

// What all runs have in common. The first of them prints it when the model is loaded, so that an error stands
// alone.
std::string subject_of(const Console& io, const BenchOptions& options, Isa isa,
                       const std::filesystem::path& path) {
  const SessionOptions& session = options.model.context;
  const float temperature = options.answers.generate.sampling.temperature;
  return fmt::format("{}\n  device {}, instruction set {}, cache {}/{}{}",
                     io.styled(Style::bold, printable(path.string())), options.model.devices.text,
                     name_of(isa), name_of(session.cache.k.format), name_of(session.cache.v.format),
                     options.draws() ? fmt::format(", tokens drawn at temperature {}", temperature) : "");
}

// One line of the table, whose columns have the same width from the start: rows come one by one.
std::string row_of(const std::array<std::string, 10>& cells) {
  constexpr std::array<size_t, 10> kWidths = {21, 10, 7, 7, 13, 7, 9, 11, 7, 9};
  std::string row = fmt::format("{:<{}}", cells[0], kWidths[0]);
  for (size_t i = 1; i < cells.size(); ++i) row += fmt::format("{:>{}}", cells[i], kWidths[i]);
  return row;
}

void print_machine(const Console& io, const Device& device, const Roofline& r) {
  const int n_threads = device.n_threads();
  std::string title = n_threads == 1 ? "1 thread" : fmt::format("{} threads", n_threads);
  if (device.name() != "cpu") title = fmt::format("{}, {}", device.name(), printable(device.description()));
  io.print("\n{}\n  measured peaks: read {} GB/s", io.styled(Style::bold, title),
           format_rate(r.read_bytes_per_second / 1e9));
  if (r.int8_ops_per_second > 0) {
    io.print(", int8 {} Gop/s, f32 {} Gop/s", format_rate(r.int8_ops_per_second / 1e9),
             format_rate(r.f32_ops_per_second / 1e9));
  }
  if (r.int16_ops_per_second > 0) io.print(", int16 {} Gop/s", format_rate(r.int16_ops_per_second / 1e9));
  if (r.bf16_ops_per_second > 0) io.print(", bf16 {} Gop/s", format_rate(r.bf16_ops_per_second / 1e9));
  const std::string titles = row_of({"test (tokens @ depth)", "tokens/s", "min", "max", "bytes/token", "GB/s",
                                     "of read", "ops/token", "Gop/s", "of peak"});
  io.print("\n\n  {}\n  {}\n", io.styled(Style::bold, titles),
           io.styled(Style::dim, std::string(titles.size(), '-')));
  io.flush();
}

void print_row(const Console& io, const BenchTest& test, const BenchResult& result,
               const Roofline& roofline) {
  const double n = n_computed(test);
  const StepCost& cost = result.cost;
  io.print("  {}\n", row_of({name_of(test), format_rate(n / result.median_s), format_rate(n / result.max_s),
                             format_rate(n / result.min_s), format_bytes(cost.bytes / n),
                             format_rate(cost.bytes / result.median_s / 1e9),
                             format_percent(seconds_for_bytes(cost, roofline) / result.median_s),
                             format_count(cost.ops() / n), format_rate(cost.ops() / result.median_s / 1e9),
                             roofline.int8_ops_per_second > 0
                                 ? format_percent(seconds_for_ops(cost, roofline) / result.median_s)
                                 : "-"}));
  io.flush();
}

Json to_json(const Roofline& roofline) {
  return Json::object({{"read_bytes_per_second", roofline.read_bytes_per_second},
                       {"int8_ops_per_second", roofline.int8_ops_per_second},
                       {"int16_ops_per_second", roofline.int16_ops_per_second},
                       {"f32_ops_per_second", roofline.f32_ops_per_second},
                       {"bf16_ops_per_second", roofline.bf16_ops_per_second}});
}

Json to_json(const BenchTest& test, const BenchResult& result, const Roofline& roofline) {
  const double n = n_computed(test);
  return Json::object(
      {{"test", std::string(name_of(test.kind))},
       {"n_tokens", test.n_tokens},
       {"n_sequences", test.n_sequences},
       {"depth", test.depth},
       {"temperature", test.sampling ? test.sampling->temperature : 0.0f},
       {"tokens_per_second", n / result.median_s},
       {"tokens_per_second_min", n / result.max_s},
       {"tokens_per_second_max", n / result.min_s},
       {"bytes_per_token", result.cost.bytes / n},
       {"bytes_per_second", result.cost.bytes / result.median_s},
       {"share_of_read_bandwidth", seconds_for_bytes(result.cost, roofline) / result.median_s},
       {"ops_per_token", result.cost.ops() / n},
       {"ops_per_second", result.cost.ops() / result.median_s},
       {"share_of_peak", seconds_for_ops(result.cost, roofline) / result.median_s}});
}

// The tests that fit the context; a remark on those that do not, unless nobody asked for them.
std::vector<BenchTest> fitting(const Console& io, const BenchOptions& options,
                               const std::vector<BenchTest>& tests, int64_t n_ctx) {
  std::vector<BenchTest> kept;
  for (const BenchTest& test : tests) {
    if (test.n_ctx() <= n_ctx) {
      kept.push_back(test);
    } else if (!options.has_default_depths || test.depth == 0) {
      io.warn(
          fmt::format("{} is left out: it needs {} tokens of context, there are {}; give smaller numbers or "
                      "raise --ctx-size",
                      name_of(test), test.n_ctx(), n_ctx));
    }
  }
  return kept;
}

// The longest wait of answers that a prompt arrives beside, for every decode test.
Result<Json> bench_arrivals(const Console& io, const BenchOptions& options, Session& session,
                            const std::vector<BenchTest>& tests, const Work& work) {
  Json rows = Json::array();
  for (const BenchTest& test : tests) {
    if (test.kind != BenchTest::Kind::decode) continue;
    PARLANCE_TRY(const ArrivalResult result, run_arrival(session, test, options.n_arriving, work));
    if (!options.wants_json) {
      io.print(
          "  {}, a prompt of {} arrives: a token every {} before and {} after it; beside it {:.2f}x that, 99 "
          "of 100 within {:.2f}x, at the longest {} ({:.2f}x); the prompt's first token after {} (alone "
          "{})\n",
          name_of(test), options.n_arriving, format_ms(result.plain_ms), format_ms(result.plain_after_ms),
          result.median_stretch, result.p99_stretch, format_ms(result.longest_ms), result.longest_stretch,
          format_ms(result.first_token_ms), format_ms(result.alone_ms));
      io.flush();
    }
    rows.push(Json::object({{"n_sequences", test.n_sequences},
                            {"depth", test.depth},
                            {"n_arriving", options.n_arriving},
                            {"plain_ms", result.plain_ms},
                            {"plain_after_ms", result.plain_after_ms},
                            {"median_stretch", result.median_stretch},
                            {"p99_stretch", result.p99_stretch},
                            {"longest_stretch", result.longest_stretch},
                            {"longest_ms", result.longest_ms},
                            {"first_token_ms", result.first_token_ms},
                            {"alone_ms", result.alone_ms}}));
  }
  return rows;
}

// Answers with drafts beside those without, for every length of answer at every depth.
Result<Json> bench_drafting(const Console& io, const BenchOptions& options, const DraftOptions& draft,
                            DraftOracle* oracle, Session& session, const std::vector<BenchTest>& tests,
                            const Roofline& roofline, const Work& work) {
  Json rows = Json::array();
  for (const BenchTest& test : tests) {
    if (test.kind != BenchTest::Kind::decode || test.n_sequences > 1) continue;
    PARLANCE_TRY(const DraftSpeed speed, measure_draft_speed(session, test.depth, test.n_tokens,
                                                             options.n_repetitions, draft, oracle, work));
    // Of the first token nothing is timed.
    const auto n = static_cast<double>(test.n_tokens - 1);
    const double bound = speed.tokens_a_step() * roofline.read_bytes_per_second / speed.bytes;
    if (!options.wants_json) {
      io.print(
          "  {}drafts, {} @ {}: {} tokens/s, without {} ({:.2f}x, pairs {:.2f} to {:.2f}); {:.2f} tokens a "
          "verification, {} of {} drafted accepted; drafting {}, verifying {} of the time; {} of what "
          "reading "
          "the weights and the cache once a step allows\n",
          oracle ? "an oracle's " : "", test.n_tokens, speed.n_prompt, format_rate(n / speed.drafted_s),
          format_rate(n / speed.plain_s), speed.plain_s / speed.drafted_s, speed.min_ratio, speed.max_ratio,
          speed.tokens_a_verification(), speed.counts.n_accepted, speed.counts.n_drafted,
          format_percent(speed.draft_share), format_percent(speed.verify_share),
          format_percent(n / speed.drafted_s / bound));
      io.flush();
    }
    rows.push(Json::object({{"n_tokens", test.n_tokens},
                            {"depth", speed.n_prompt},
                            {"tokens_per_second", n / speed.drafted_s},
                            {"plain_tokens_per_second", n / speed.plain_s},
                            {"speed_up", speed.plain_s / speed.drafted_s},
                            {"speed_up_min", speed.min_ratio},
                            {"speed_up_max", speed.max_ratio},
                            {"tokens_a_verification", speed.tokens_a_verification()},
                            {"tokens_a_step", speed.tokens_a_step()},
                            {"verifications", speed.counts.n_verified},
                            {"drafted", speed.counts.n_drafted},
                            {"accepted", speed.counts.n_accepted},
                            {"draft_share", speed.draft_share},
                            {"verify_share", speed.verify_share},
                            {"bound_tokens_per_second", bound}}));
  }
  return rows;
}

// All tests with one number of threads.
Result<Json> bench_threads(const Console& io, const BenchOptions& options, int n_threads, Isa isa,
                           const std::string& subject) {
  ModelChoice choice = options.model;
  choice.devices.n_threads = n_threads;
  const std::vector<BenchTest> all = tests_of(options);
  const auto n_most = static_cast<int>(*std::ranges::max_element(options.n_sequences));
  choice.context.n_seq = n_most + (options.n_arriving > 0 ? 1 : 0);
  // Questions are as long as a sentence more or less than what was asked for.
  constexpr int64_t kSentence = 64;
  choice.context.n_ctx = longest(all) + (options.has_drafts() ? 2 * kSentence : 0);
  if (options.n_arriving > 0) choice.context.n_ctx += room_for_arrival(all, options.n_arriving);
  choice.context.n_outputs = std::max<int64_t>(1, *std::ranges::max_element(options.n_verified));
  if (!options.names_drafter) choice.draft = {.uses_model = false};
  DraftOracle oracle;
  if (options.has_oracle) {
    choice.context.replaces_drafter = [&oracle](std::unique_ptr<Drafter> drafter) {
      return oracle.in_place_of(std::move(drafter));
    };
  }
  PARLANCE_TRY(const auto text, open_text(choice, io));
  Session& session = text->session();
  if (options.has_drafts() && session.context().options().n_draft == 0) {
    return fail(
        ErrorCode::invalid_argument,
        "nothing drafts for this model: name a drafter's file or lookup with --draft, or a bundle with "
        "a drafter with --model");
  }
  Device& device = text->region().device();
  const std::vector<BenchTest> tests = fitting(io, options, all, session.n_ctx());
  PARLANCE_TRY(const Roofline roofline, measure_peaks(device, isa));
  const int64_t n_batch = session.context().options().n_batch;
  if (!options.wants_json) {
    if (!subject.empty()) io.print("{}, batch {}\n", subject, n_batch);
    print_machine(io, device, roofline);
  }

  const bool was_reset = reset_peak_memory();  // forgets the buffers that the peaks were measured with
  Json rows = Json::array();
  const InterruptGuard guard;
  const Work work{.cancellation = guard.ticket()};
  for (const BenchTest& test : tests) {
    PARLANCE_TRY(const BenchResult result, run(session, test, n_batch, options.n_repetitions, work));
    if (!options.wants_json) print_row(io, test, result, roofline);
    rows.push(to_json(test, result, roofline));
  }
  Json arrivals = Json::array();
  if (options.n_arriving > 0) {
    PARLANCE_TRY(arrivals, bench_arrivals(io, options, session, tests, work));
  }
  Json drafting = Json::array();
  if (options.has_drafts()) {
    DraftOptions draft = options.draft;
    draft.is_required = choice.draft.is_required;
    PARLANCE_TRY(drafting, bench_drafting(io, options, draft, options.has_oracle ? &oracle : nullptr, session,
                                          tests, roofline, work));
  }
  const size_t memory_bytes = was_reset ? peak_memory_bytes() : 0;
  if (!options.wants_json && memory_bytes > 0)
    io.print("  peak memory {}\n", format_bytes(static_cast<double>(memory_bytes)));
  return Json::object({{"threads", device.n_threads()},
                       {"batch", n_batch},
                       {"peaks", to_json(roofline)},
                       {"tests", rows},
                       {"arrivals", arrivals},
                       {"drafting", drafting},
                       {"peak_memory_bytes", memory_bytes}});
}

void print_load_titles(const Console& io) {
  const std::string titles =
      fmt::format("{:<8} {:>10} {:>10} {:>12} {:>10}", "start", "load", "session", "first token", "total");
  io.print("\n  {}\n  {}\n", io.styled(Style::bold, titles),
           io.styled(Style::dim, std::string(titles.size(), '-')));
}

Result<Json> bench_loading(const Console& io, const BenchOptions& options, int n_threads,
                           const std::string& subject) {
  ModelChoice choice = options.model;
  choice.devices.n_threads = n_threads;
  Json rows = Json::array();
  for (int i = 0; i <= options.n_repetitions; ++i) {
    PARLANCE_TRY(const LoadTimes times, time_loading(choice, warnings_to(io)));
    const double total_ms = times.load_ms + times.session_ms + times.first_token_ms;
    if (!options.wants_json) {
      if (i == 0 && !subject.empty()) io.print("{}\n", subject);
      if (i == 0) print_load_titles(io);
      io.print("  {:<8} {:>10} {:>10} {:>12} {:>10}\n", i == 0 ? "first" : "again", format_ms(times.load_ms),
               format_ms(times.session_ms), format_ms(times.first_token_ms), format_ms(total_ms));
    }
    rows.push(Json::object({{"load_ms", times.load_ms},
                            {"session_ms", times.session_ms},
                            {"first_token_ms", times.first_token_ms},
                            {"total_ms", total_ms}}));
  }
  return rows;
}

Result<int> bench(Console& io, const BenchOptions& options) {
  PARLANCE_TRY(const Isa isa, choose_isa());
  PARLANCE_TRY(const std::filesystem::path path, find_model(options.model.files.folder));
  Json json = Json::object({{"model", path.string()},
                            {"device", options.model.devices.text},
                            {"instruction_set", name_of(isa)},
                            {"cache_type_k", name_of(options.model.context.cache.k.format)},
                            {"cache_type_v", name_of(options.model.context.cache.v.format)}});
  Json runs = Json::array();
  std::string subject = subject_of(io, options, isa, path);
  for (const int64_t n : options.n_threads) {
    const auto n_threads = static_cast<int>(n);
    PARLANCE_TRY(const Json run, options.times_loading ? bench_loading(io, options, n_threads, subject)
                                                       : bench_threads(io, options, n_threads, isa, subject));
    runs.push(run);
    subject.clear();
  }
  if (options.wants_json) {
    io.print("{}\n", json.set(options.times_loading ? "loading" : "runs", runs).pretty());
  } else if (!options.times_loading) {
    io.print(
        "\n  The median of {} runs. \"of read\" and \"of peak\" are shares of the measured peaks; a model "
        "that fits the\n  processor's caches can exceed the bandwidth of memory.\n",
        options.n_repetitions);
  }
  return kSuccess;
}

// What all subjects have in common.
template <class Bench>
Bench with_shared(Bench bench, const BenchOptions& options) {
  bench.folder = options.model.files.folder;
  bench.device = options.model.devices.text;
  bench.n_threads = options.n_threads;
  bench.n_repetitions = options.n_repetitions;
  bench.wants_json = options.wants_json;
  return bench;
}

Result<int> bench_server(const Console& io, const BenchOptions& options) {
  ServeBench serve = options.serve;
  serve.models = options.model;
  serve.defaults.draft = options.draft;
  if (!options.has_default_prompts) serve.n_prompt = options.prompt_sizes.front();
  if (!options.has_default_answers) serve.n_answer = options.answer_sizes.front();
  serve.n_threads = options.n_threads;
  serve.n_repetitions = options.n_repetitions;
  serve.wants_json = options.wants_json;
  return bench_serve(io, serve);
}

Result<int> bench_speech(const Console& io, const BenchOptions& options) {
  if (options.subject == kSay) return bench_say(io, with_shared(options.say, options));
  ListenBench listen = with_shared(options.listen, options);
  listen.has_live = !options.no_live;
  return bench_listen(io, listen);
}

// Cases and masks that are timed, as they were named.
Result<void> set_say_choices(BenchOptions& options) {
  const std::vector<std::string> known = say_bench_cases();
  for (const std::string& name : options.say.cases) {
    if (std::ranges::count(known, name) > 0) continue;
    return fail(ErrorCode::invalid_argument, "--case: '{}' is not one of {}", name, fmt::join(known, ", "));
  }
  if (!options.masks.empty()) options.say.masks.clear();
  for (const std::string& name : options.masks) {
    if (name != "hard" && name != "soft")
      return fail(ErrorCode::invalid_argument, "--guidance-mask: '{}' is not one of hard, soft", name);
    options.say.masks.push_back(name == "hard" ? GuidanceMask::hard : GuidanceMask::soft);
  }
  for (const std::string& name : options.qualities) {
    const auto quality = speech_quality_from_name(name);
    if (!quality) {
      return fail(ErrorCode::invalid_argument, "--quality: '{}' is not one of {}", name, kSpeechQualities);
    }
    options.say.qualities.push_back(*quality);
  }
  return {};
}

}  // namespace

Command bench_command() {
  const auto options = std::make_shared<BenchOptions>();
  constexpr int64_t kMaxTokens = int64_t{1} << 24, kMostVerified = 32;
  Command command;
  command.name = "bench";
  command.summary = "Measure speed, beside what the machine allows.";
  command.description =
      "Times reading a prompt (prefill) and writing an answer (decode) at several depths of context. Beside "
      "each speed stand the bytes that must be read for a token, against the bandwidth of memory measured "
      "just before, and the arithmetic, against the measured peak: which of the two is near its limit says "
      "what holds the model back.";
  command.examples = {
      {"parlance bench -m model.gguf", "the usual picture"},
      {"parlance bench -m model.gguf -t 1,2,4 -d 0,8192 -ctk q8_0 -ctv q8_0",
       "by threads, at the start and after 8192 tokens, with a compressed cache"},
      {"parlance bench -m model.gguf --load", "time from nothing to the first token"},
      {"parlance bench -m model.gguf -p 0 -d 512 -s 1,8 --arriving 4096",
       "many answers at once, and a long prompt"},
      {"parlance bench -m model.gguf -p 0 -n 128 -d 0 -s 1,64 --temp 0.7 --top-k 20",
       "answers whose tokens are drawn, as in a chat"},
      {"parlance bench -m FOLDER -p 0 -n 128 -d 0,4096 --draft auto",
       "answers with the bundle's drafter beside those without"},
      {"parlance bench -m model.gguf -p 0 -n 128 -d 0 --oracle --draft-max 7",
       "with drafts of seven tokens that are always right"},
      {"parlance bench listen -m FOLDER", "speech recognition: a recording, and live"},
      {"parlance bench say -m FOLDER", "speech synthesis: steps of the model, and the codec"},
      {"parlance bench serve -m FOLDER", "a server: many who write at once, and many who talk"}};
  // Lists that mean something else where nobody gave them.
  const auto list = [options](const char* names, const char* help, std::vector<int64_t>& values,
                              bool BenchOptions::*is_default) {
    Option option = number_list_option(names, "LIST", help, values, 0, kMaxTokens);
    option.set = [options, is_default, set = option.set](const std::string& text) {
      (*options).*is_default = false;
      return set(text);
    };
    return option;
  };
  Option threads = number_list_option(
      "-t, --threads", "LIST", "Numbers of threads that compute, one run each.", options->n_threads, 1, 1024);
  threads.fallback = "one for each processor";
  OptionGroup drafting = draft_group(options->model, options->draft);
  Option& draft = drafting.options.front();
  draft.help = "Also have answers written with drafts and without by turns, and tell what drafting gives. " +
               draft.help;
  draft.fallback = "no drafts";
  draft.set = [options, set = draft.set](const std::string& text) {
    options->names_drafter = true;
    return set(text);
  };
  drafting.options.push_back(
      flag("--oracle",
           "As --draft, with what the model says in place of what is proposed: what a drafter brings that is "
           "always right. One named with --draft still takes its time, without one proposals take none.",
           options->has_oracle));
  // What a token is drawn from; what was said before it means nothing here.
  options->answers.generate.sampling.temperature = 0;
  OptionGroup sampling = sampling_group(options->answers);
  std::erase_if(sampling.options, [](const Option& option) {
    const std::array kept = {"--temp", "--top-k", "--top-p", "--min-p"};
    return std::ranges::find(kept, main_name(option)) == kept.end();
  });
  sampling.options.front().help =
      "Draw the tokens of answers as chat does at this temperature. 0: take the likeliest, which costs "
      "least.";
  OptionGroup model = model_group(options->model);
  std::erase_if(model.options, [](const Option& option) { return main_name(option) == "--threads"; });
  for (Option& option : model.options) {
    if (main_name(option) == "--ctx-size") option.fallback = "what the longest test needs";
  }
  command.positionals = {text_option(
      "WHAT", "WHAT",
      "'listen' for speech recognition, 'say' for synthesis; -m is then the folder of the two files. 'serve' "
      "for a server; prompts are then of 128 tokens where -p says nothing.",
      options->subject)};
  command.groups = {
      {"Tests",
       {list("-p, --prompt-sizes", "Lengths of prompts; 0 for none.", options->prompt_sizes,
             &BenchOptions::has_default_prompts),
        list("-n, --gen-sizes, --gen-size", "Lengths of answers; 0 for none.", options->answer_sizes,
             &BenchOptions::has_default_answers),
        list("-d, --depths, --depth", "Tokens in the context before each test.", options->depths,
             &BenchOptions::has_default_depths),
        number_list_option("-s, --sequences", "LIST", "Answers that are written at once.",
                           options->n_sequences, 1, 4096),
        number_list_option(
            "--verify", "LIST",
            "Also time steps that verify drafts: of so many tokens, each with what follows it. 0: none.",
            options->n_verified, 0, kMostVerified),
        number_option<int64_t>(
            "--arriving", "N",
            "Also have a prompt of N tokens arrive while answers are written, and tell how long "
            "they wait for it. 0: none.",
            options->n_arriving, 0, kMaxTokens),
        threads,
        number_option<int>("-r, --repetitions", "N", "Runs of each test, after one to warm up.",
                           options->n_repetitions, 1, 1000),
        flag("--load", "Time loading instead: map and check the file, make room, and compute one token.",
             options->times_loading)}},
      {"Speech recognition",
       {text_option("--audio", "FILE", "A recording; without it, a signal like speech.",
                    options->listen.audio),
        number_option<double>("--seconds", "N", "Length of that signal.", options->listen.seconds, 1, 180),
        flag("--no-live", "Time whole recordings only, no streams.", options->no_live)}},
      {"Speech synthesis",
       {list_option("--case", "NAME",
                    fmt::format("One of {}; can be given several times.", fmt::join(say_bench_cases(), ", ")),
                    options->say.cases),
        list_option("--guidance-mask", "MASK", "hard or soft; can be given twice.", options->masks),
        list_option(
            "--quality", "QUALITY",
            fmt::format("Whole speech in this quality, in place of steps and codec: one of {}; can be "
                        "given several times.",
                        kSpeechQualities),
            options->qualities)}},
      {"A server",
       {number_list_option("--clients", "LIST",
                           "Clients that write at once; each asks as many times as there are repetitions.",
                           options->serve.n_clients, 1, 256),
        number_list_option(
            "--sessions", "LIST",
            "Realtime sessions in which somebody talks, at once; 0: none. The questions are the server's own "
            "voice's.",
            options->serve.n_sessions, 0, 256)}},
      std::move(sampling),
      std::move(drafting),
      std::move(model),
      {"Output", {json_option(options->wants_json)}}};
  command.check = [options]() -> Result<void> {
    PARLANCE_CHECK(set_say_choices(*options));
    if (options->subject == kServe &&
        (options->prompt_sizes.front() < 1 || options->answer_sizes.front() < 1)) {
      return fail(ErrorCode::invalid_argument,
                  "-p, -n: a server is asked with a token or more, for a token or more");
    }
    const std::array known = {std::string_view(), kListen, kSay, kServe};
    if (std::ranges::find(known, options->subject) != known.end()) return {};
    return fail(ErrorCode::invalid_argument,
                "'{}': expected nothing, '{}', '{}' or '{}'; the model goes behind -m", options->subject,
                kListen, kSay, kServe);
  };
  command.run = [options](Console& io) {
    if (options->subject.empty()) return bench(io, *options);
    return options->subject == kServe ? bench_server(io, *options) : bench_speech(io, *options);
  };
  return command;
}

}  // namespace parlance
