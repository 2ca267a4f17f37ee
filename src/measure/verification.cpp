#include "measure/verification.h"

#include <algorithm>

#include "engine/noise.h"
#include "engine/scheduler.h"
#include "engine/task.h"
#include "measure/stopwatch.h"

namespace parlance {

namespace {

// The same tokens again and again, as if each draft were refused.
class GivenDrafts final : public Task {
 public:
  GivenDrafts(Sequence& sequence, std::vector<Token> tokens, const Work& work)
      : Task(sequence, work), tokens_(std::move(tokens)), n_before_(sequence.n_tokens()) {
    n_outputs_ = std::ssize(tokens_);
    does_with_tokens_ = true;
  }

  Result<void> begin() { return sequence().append(tokens_); }
  const Result<void>& outcome() const { return outcome_; }

 private:
  void take(std::span<const float>, int64_t) override {}
  void take_tokens(std::span<const Token>) override {}
  bool computed() override {
    sequence().truncate(n_before_);
    return ++n_done_ < kVerifications && sequence().append(tokens_).has_value();
  }
  void end(Result<void> outcome) override { outcome_ = std::move(outcome); }

  std::vector<Token> tokens_;
  int64_t n_before_;
  int64_t n_done_ = 0;
  Result<void> outcome_;
};

Result<double> run_once(Session& session, const BenchTest& test, const Work& work) {
  session.truncate(test.depth);
  PARLANCE_CHECK(fill_with_noise(session, test.depth));
  GivenDrafts task(session.sequence(), bench_tokens(test.n_tokens, session.model().tokenizer().n_vocab()),
                   work);
  PARLANCE_CHECK(task.begin());
  Scheduler& scheduler = session.context().scheduler();
  const Clock::time_point start = Clock::now();
  PARLANCE_CHECK(scheduler.post(task));
  scheduler.wait([&] { return task.is_done(); });
  const double seconds = seconds_since(start);
  PARLANCE_CHECK(task.outcome());
  return seconds;
}

}  // namespace

Result<BenchResult> run_verification(Session& session, const BenchTest& test, int n_repetitions,
                                     const Work& work) {
  PARLANCE_CHECK(run_once(session, test, work));
  std::vector<double> seconds;
  for (int i = 0; i < n_repetitions; ++i) {
    PARLANCE_TRY(const double s, run_once(session, test, work));
    seconds.push_back(s);
  }
  const CostModel model(session.model(), session.kv_bytes_per_token(), session.state_bytes());
  StepCost cost;
  for (int64_t i = 0; i < kVerifications; ++i) cost += model.step(test.n_tokens, test.depth, test.n_tokens);
  return BenchResult{.median_s = median(seconds),
                     .min_s = *std::ranges::min_element(seconds),
                     .max_s = *std::ranges::max_element(seconds),
                     .cost = cost};
}

}  // namespace parlance
