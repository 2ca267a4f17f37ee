#include "cli/bench_serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "base/log.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "json/json.h"
#include "measure/served_answers.h"
#include "measure/served_talks.h"
#include "server/server.h"

namespace parlance {

namespace {

constexpr double kSoonMs = 800;  // what is waited for an answer in a conversation without impatience
constexpr double kGapMs = 1;     // less is not heard
constexpr int64_t kLeastSequences = 4;
constexpr std::array kQuestions = {"What is two plus three?", "What is your name?",
                                   "What is nine minus four?"};

int64_t most_of(const std::vector<int64_t>& values) {
  return *std::ranges::max_element(values);
}

Result<std::unique_ptr<Server>> start_server(const ServeBench& options, int n_threads) {
  ServerOptions server;
  server.listener.port = 0;
  server.log_level = LogLevel::error;
  server.models = options.models;
  server.models.devices.n_threads = n_threads;
  server.models.context.n_seq =
      static_cast<int>(std::max({most_of(options.n_clients), most_of(options.n_sessions), kLeastSequences}));
  server.models.context.n_waiting = static_cast<int>(most_of(options.n_clients));
  server.models.recognizer.n_streams = static_cast<int>(std::max<int64_t>(most_of(options.n_sessions), 1));
  server.listener.n_connections_of_address = std::max(server.listener.n_connections_of_address,
                                                      static_cast<size_t>(most_of(options.n_clients)) + 16);
  server.n_most_realtime = most_of(options.n_sessions);
  server.defaults = options.defaults;
  PARLANCE_TRY(auto started, Server::start(std::move(server)));
  PARLANCE_CHECK(started->wait_until_ready());
  return started;
}

double tokens_per_second(const ServedAnswers& answers) {
  return static_cast<double>(answers.n_tokens) / answers.seconds;
}

Json to_json(const Spread& spread) {
  return Json::object({{"median", spread.median}, {"p95", spread.p95}, {"most", spread.most}});
}

// Somebody has to know why figures are worse than they look.
void tell_failures(const Console& io, int64_t n_at_once, int n_failed, const std::string& why) {
  if (n_failed > 0) io.print("  {} at once: {} failed; the first: {}\n", n_at_once, n_failed, why);
}

int32_t n_vocab_of(Server& server) {
  return server.site().text->model().tokenizer().n_vocab();
}

// One answer, which says whether such answers can be.
Result<void> warm_up(const ServeBench& options, Server& server, const Cancellation& cancellation) {
  const ServedAnswersTest test{.n_each = 1, .n_prompt = options.n_prompt, .n_answer = options.n_answer};
  PARLANCE_TRY(const ServedAnswers answers,
               run_served_answers(server.port(), test, n_vocab_of(server), cancellation));
  if (answers.n_failed > 0) return fail(ErrorCode::invalid_argument, "{}", answers.first_failure);
  return {};
}

Result<Json> run_chats(const Console& io, const ServeBench& options, Server& server,
                       const Cancellation& cancellation) {
  Table table({{"answers at once"},
               {"tokens/s"},
               {"of one"},
               {"answers/s"},
               {"first words"},
               {"p95"},
               {"between words"},
               {"p95"}});
  Json rows = Json::array();
  ServedAnswersTest test{
      .n_each = options.n_repetitions, .n_prompt = options.n_prompt, .n_answer = options.n_answer};
  double one = 0;
  for (const int64_t n : options.n_clients) {
    test.first_seed += static_cast<uint32_t>(test.n_clients * test.n_each + 1);
    test.n_clients = static_cast<int>(n);
    PARLANCE_TRY(const ServedAnswers answers,
                 run_served_answers(server.port(), test, n_vocab_of(server), cancellation));
    if (n == 1) one = tokens_per_second(answers);
    const double n_answers = static_cast<double>(test.n_clients * test.n_each - answers.n_failed);
    table.add({fmt::format("{}", n), format_rate(tokens_per_second(answers)),
               one > 0 ? fmt::format("{:.2f}x", tokens_per_second(answers) / one) : "-",
               format_rate(n_answers / answers.seconds), format_ms(answers.first_ms.median),
               format_ms(answers.first_ms.p95), format_ms(answers.gap_ms.median),
               format_ms(answers.gap_ms.p95)});
    rows.push(Json::object({{"clients", n},
                            {"tokens_per_second", tokens_per_second(answers)},
                            {"answers_per_second", n_answers / answers.seconds},
                            {"first_words_ms", to_json(answers.first_ms)},
                            {"between_words_ms", to_json(answers.gap_ms)},
                            {"failed", answers.n_failed},
                            {"first_failure", answers.first_failure}}));
    if (!options.wants_json) tell_failures(io, n, answers.n_failed, answers.first_failure);
  }
  if (!options.wants_json) {
    io.print("  prompts of {} tokens of their own, answers of {}\n\n{}\n", options.n_prompt, options.n_answer,
             table.text(io));
    io.flush();
  }
  return rows;
}

bool is_fluent(const ServedTalks& talks) {
  return talks.n_failed == 0 && talks.first_ms.p95 <= kSoonMs && talks.missing_ms.p95 < kGapMs;
}

Result<Json> run_talks(const Console& io, const ServeBench& options, Server& server,
                       const Cancellation& cancellation) {
  ServedTalksTest test{.n_turns = options.n_repetitions, .questions = {}};
  for (const char* const question : kQuestions) {
    PARLANCE_TRY(RealtimeSound sound, spoken_by_server(server.port(), question));
    test.questions.push_back(std::move(sound));
  }
  Table table({{"talks at once"}, {"turns"}, {"first sound"}, {"p95"}, {"sound missing, p95"}, {"most"}});
  Json rows = Json::array();
  int64_t n_fluent = 0;
  for (const int64_t n : options.n_sessions) {
    if (n == 0) continue;
    test.n_sessions = static_cast<int>(n);
    PARLANCE_TRY(const ServedTalks talks, run_served_talks(server.port(), test, cancellation));
    if (is_fluent(talks)) n_fluent = std::max(n_fluent, n);
    table.add({fmt::format("{}", n), fmt::format("{}", talks.n_turns), format_ms(talks.first_ms.median),
               format_ms(talks.first_ms.p95), format_ms(talks.missing_ms.p95),
               format_ms(talks.missing_ms.most)});
    rows.push(Json::object({{"sessions", n},
                            {"turns", talks.n_turns},
                            {"first_sound_ms", to_json(talks.first_ms)},
                            {"missing_sound_ms", to_json(talks.missing_ms)},
                            {"failed", talks.n_failed},
                            {"first_failure", talks.first_failure}}));
    if (!options.wants_json) tell_failures(io, n, talks.n_failed, talks.first_failure);
  }
  if (!options.wants_json) {
    io.print("  questions at the pace of speech, first sound from their end on\n\n{}\n", table.text(io));
    if (n_fluent > 0) {
      io.print("  {} talk{} at once {} answered within {:.0f} ms, 95 of 100 times, and without a gap\n\n",
               n_fluent, n_fluent == 1 ? "" : "s", n_fluent == 1 ? "is" : "are", kSoonMs);
    } else {
      io.print("  none is answered within {:.0f} ms, 95 of 100 times, and without a gap\n\n", kSoonMs);
    }
    io.flush();
  }
  return rows;
}

bool can_talk(const Site& site) {
  const auto has = [&](ModelKind kind) {
    return std::ranges::count(site.offers, kind, &ModelOffer::kind) > 0;
  };
  return has(ModelKind::asr) && has(ModelKind::tts);
}

Result<Json> run_threads(const Console& io, const ServeBench& options, int n_threads) {
  const InterruptGuard guard;
  PARLANCE_TRY(const auto server, start_server(options, n_threads));
  PARLANCE_CHECK(warm_up(options, *server, guard.ticket()));
  const int n = server->site().text->device().n_threads();
  if (!options.wants_json) {
    io.print("{}, {} thread{}\n", io.styled(Style::bold, server->site().offers.front().id), n,
             n == 1 ? "" : "s");
  }
  PARLANCE_TRY(const Json chats, run_chats(io, options, *server, guard.ticket()));
  Json talks = Json::array();
  if (can_talk(server->site()) && most_of(options.n_sessions) > 0) {
    PARLANCE_TRY(talks, run_talks(io, options, *server, guard.ticket()));
  } else if (!options.wants_json && most_of(options.n_sessions) > 0) {
    io.print("  no talks: that takes a recogniser and a voice beside the text model\n");
  }
  server->drain();
  server->finish(std::chrono::seconds(5));
  return Json::object({{"threads", n}, {"answers", chats}, {"talks", talks}});
}

}  // namespace

Result<int> bench_serve(const Console& io, const ServeBench& options) {
  Json runs = Json::array();
  for (const int64_t n : options.n_threads) {
    PARLANCE_TRY(const Json run, run_threads(io, options, static_cast<int>(n)));
    runs.push(run);
  }
  if (options.wants_json) {
    io.print("{}\n",
             Json::object(
                 {{"prompt_tokens", options.n_prompt}, {"answer_tokens", options.n_answer}, {"runs", runs}})
                 .pretty());
  }
  return 0;
}

}  // namespace parlance
