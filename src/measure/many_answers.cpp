#include "measure/many_answers.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/noise.h"
#include "engine/scheduler.h"
#include "engine/task.h"
#include "measure/stopwatch.h"

namespace parlance {

namespace {

// An answer of so many tokens, whatever they are.
class TimedAnswer final : public Task {
 public:
  TimedAnswer(Sequence& sequence, int64_t n_tokens, const std::optional<SamplingOptions>& sampling,
              const Work& work)
      : Task(sequence, work),
        n_left_(n_tokens),
        sampler_(sampling.value_or(SamplingOptions{.temperature = 0})) {
    does_with_tokens_ = !sampling;
    draws_from_top_ = !sampling || draws_from_top(*sampling, kMostTopLogits);
    does_with_top_ = sampling && may_do_with_top(*sampling, kMostTopLogits);
  }

  // Puts a token behind what there is; the others follow.
  Result<void> begin() {
    next_ = bench_tokens(1, sequence().context().model().tokenizer().n_vocab()).front();
    return go_on_with_next();
  }
  const Result<void>& outcome() const { return outcome_; }
  const std::vector<Clock::time_point>& times() const { return times_; }  // when each token was computed
  void go_on() { wants_more_ = true; }
  void stop() { wants_more_ = false; }

 private:
  bool has_more() const { return n_left_ > 0 || wants_more_; }

  std::optional<TokenDraw> next_draw() const override {
    if (!has_more() || !draws_from_top_) return std::nullopt;
    return sampler_.next_draw();
  }
  void take(std::span<const float> row, int64_t) override { say(sampler_.sample(row)); }
  Result<void> take_top(TopRows& rows) override {
    if (const std::optional<Token> token = sampler_.sample(rows.top(0))) {
      say(*token);
      return {};
    }
    PARLANCE_TRY(const std::span<const float> row, rows.logits(0));
    take(row, 1);
    return {};
  }
  void take_tokens(std::span<const Token> tokens) override { say(tokens.front()); }
  bool computed() override { return has_more() && go_on_with_next().has_value(); }
  void end(Result<void> outcome) override { outcome_ = std::move(outcome); }

  void say(Token token) {
    next_ = token;
    sampler_.accept(token);
    times_.push_back(Clock::now());
  }
  Result<void> go_on_with_next() {
    if (n_left_ > 0) --n_left_;
    return sequence().append({&next_, 1});
  }

  int64_t n_left_;  // tokens to go on with
  Sampler sampler_;
  bool draws_from_top_;
  Token next_ = 0;
  bool wants_more_ = false;
  std::vector<Clock::time_point> times_;
  Result<void> outcome_;
};

struct Answers {
  std::vector<std::unique_ptr<Session>> others;
  std::vector<Session*> sessions;
};

// The session and as many others as the test has sequences.
Result<Answers> open_all(Session& session, const BenchTest& test) {
  Answers answers;
  answers.sessions.push_back(&session);
  while (std::ssize(answers.sessions) < test.n_sequences) {
    PARLANCE_TRY(auto other, Session::create(session.shared_context()));
    answers.sessions.push_back(other.get());
    answers.others.push_back(std::move(other));
  }
  return answers;
}

Result<std::vector<std::unique_ptr<TimedAnswer>>> begin_all(const Answers& answers, const BenchTest& test,
                                                            const Work& work) {
  std::vector<std::unique_ptr<TimedAnswer>> tasks;
  for (Session* const session : answers.sessions) {
    session->truncate(test.depth);
    PARLANCE_CHECK(fill_with_noise(*session, test.depth));
    tasks.push_back(std::make_unique<TimedAnswer>(session->sequence(), test.n_tokens, test.sampling, work));
    PARLANCE_CHECK(tasks.back()->begin());
  }
  return tasks;
}

Result<double> run_once(const Answers& answers, const BenchTest& test, const Work& work) {
  PARLANCE_TRY(const auto tasks, begin_all(answers, test, work));
  Scheduler& scheduler = answers.sessions.front()->context().scheduler();
  const Clock::time_point start = Clock::now();
  for (const auto& task : tasks) PARLANCE_CHECK(scheduler.post(*task));
  scheduler.wait(
      [&] { return std::ranges::all_of(tasks, [](const auto& task) { return task->is_done(); }); });
  const double seconds = seconds_since(start);
  for (const auto& task : tasks) PARLANCE_CHECK(task->outcome());
  return seconds;
}

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// The time between two tokens of an answer, of which the second came at `end`.
struct Gap {
  Clock::time_point end;
  double ms;
};

// Those that overlap the time from some moment to another.
std::vector<Gap> gaps(const std::vector<std::unique_ptr<TimedAnswer>>& tasks, Clock::time_point from,
                      Clock::time_point to) {
  std::vector<Gap> found;
  for (const auto& task : tasks) {
    const auto& times = task->times();
    for (size_t i = 1; i < times.size(); ++i) {
      if (times[i] > from && times[i - 1] < to)
        found.push_back({times[i], ms_between(times[i - 1], times[i])});
    }
  }
  return found;
}

double median_ms(const std::vector<Gap>& gaps) {
  std::vector<double> ms;
  for (const Gap& gap : gaps) ms.push_back(gap.ms);
  return median(std::move(ms));
}

// What the prompt, which arrived at one moment and was read at another, did to the answers.
void compare(const std::vector<Gap>& stretched, Clock::time_point arrival, Clock::time_point known,
             ArrivalResult& result) {
  std::vector<double> stretches;
  for (const Gap& gap : stretched) {
    const double share = std::min(1.0, ms_between(arrival, gap.end) / ms_between(arrival, known));
    const double plain_ms = result.plain_ms + share * (result.plain_after_ms - result.plain_ms);
    stretches.push_back(gap.ms / plain_ms);
    result.longest_ms = std::max(result.longest_ms, gap.ms);
  }
  result.median_stretch = median(stretches);
  std::ranges::sort(stretches);
  result.p99_stretch = stretches[stretches.size() * 99 / 100];
  result.longest_stretch = stretches.back();
}

}  // namespace

Result<BenchResult> run_answers(Session& session, const BenchTest& test, int n_repetitions,
                                const Work& work) {
  PARLANCE_TRY(const Answers answers, open_all(session, test));
  PARLANCE_CHECK(run_once(answers, test, work));
  std::vector<double> seconds;
  for (int i = 0; i < n_repetitions; ++i) {
    PARLANCE_TRY(const double s, run_once(answers, test, work));
    seconds.push_back(s);
  }
  const CostModel model(session.model(), session.kv_bytes_per_token(), session.state_bytes());
  StepCost cost;
  for (int64_t i = 0; i < test.n_tokens; ++i) cost += model.step_of_many(test.n_sequences, test.depth + i);
  return BenchResult{.median_s = median(seconds),
                     .min_s = *std::ranges::min_element(seconds),
                     .max_s = *std::ranges::max_element(seconds),
                     .cost = cost};
}

Result<ArrivalResult> run_arrival(Session& session, const BenchTest& test, int64_t n_arriving,
                                  const Work& work) {
  PARLANCE_TRY(const Answers answers, open_all(session, test));
  PARLANCE_TRY(const auto arriving, Session::create(session.shared_context()));
  const std::vector<Token> prompt = bench_tokens(n_arriving, session.model().tokenizer().n_vocab());
  ArrivalResult result;
  for (const bool is_alone : {true, false}) {
    arriving->truncate(0);
    session.context().tree().evict({INT32_MAX, INT32_MAX});
    if (is_alone) {
      const Clock::time_point start = Clock::now();
      PARLANCE_CHECK(arriving->set_prompt(prompt, work));
      result.alone_ms = ms_between(start, Clock::now());
      continue;
    }
    PARLANCE_TRY(const auto tasks, begin_all(answers, test, work));
    for (const auto& task : tasks) task->go_on();
    Scheduler& scheduler = session.context().scheduler();
    for (const auto& task : tasks) PARLANCE_CHECK(scheduler.post(*task));
    const Clock::time_point start = Clock::now();
    const auto wait_for_more = [&](int64_t n) {
      const int64_t n_wanted = std::ssize(tasks.front()->times()) + n;
      scheduler.wait(
          [&] { return tasks.front()->is_done() || std::ssize(tasks.front()->times()) >= n_wanted; });
    };
    wait_for_more(test.n_tokens);
    const Clock::time_point arrival = Clock::now();
    const auto logits = arriving->set_prompt(prompt, work);
    const Clock::time_point known = Clock::now();
    wait_for_more(test.n_tokens);
    const Clock::time_point end = Clock::now();
    const bool has_room = std::ranges::none_of(tasks, [](const auto& task) { return task->is_done(); });
    for (const auto& task : tasks) task->stop();
    scheduler.wait(
        [&] { return std::ranges::all_of(tasks, [](const auto& task) { return task->is_done(); }); });
    PARLANCE_CHECK(logits);
    for (const auto& task : tasks) PARLANCE_CHECK(task->outcome());
    if (!has_room) {
      return fail(
          ErrorCode::invalid_argument,
          "answers that the prompt arrived beside came to the end of the context, {} tokens, before it "
          "was read; let a longer one arrive",
          session.n_ctx());
    }
    result.plain_ms = median_ms(gaps(tasks, start, arrival));
    result.plain_after_ms = median_ms(gaps(tasks, known, end));
    compare(gaps(tasks, arrival, known), arrival, known, result);
    result.first_token_ms = ms_between(arrival, known);
  }
  return result;
}

}  // namespace parlance
