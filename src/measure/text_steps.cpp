#include "measure/text_steps.h"

#include <algorithm>
#include <random>

#include "engine/noise.h"
#include "measure/stopwatch.h"

namespace parlance {

namespace {

Result<double> run_once(Session& session, const BenchTest& test, std::span<const Token> tokens,
                        int64_t n_batch, const Work& work) {
  session.truncate(test.depth);
  if (static_cast<int64_t>(session.tokens().size()) < test.depth)
    PARLANCE_CHECK(fill_with_noise(session, test.depth));
  const Clock::time_point start = Clock::now();
  while (!tokens.empty()) {
    const size_t n = std::min(static_cast<size_t>(n_batch), tokens.size());
    PARLANCE_CHECK(session.append(tokens.first(n), 1, {}, work));
    tokens = tokens.subspan(n);
  }
  return seconds_since(start);
}

StepCost cost_of(const Session& session, const BenchTest& test, int64_t n_batch) {
  const CostModel model(session.model(), session.kv_bytes_per_token(), session.state_bytes());
  StepCost cost;
  for (int64_t done = 0; done < test.n_tokens; done += n_batch)
    cost += model.step(std::min(n_batch, test.n_tokens - done), test.depth + done);
  return cost;
}

}  // namespace

std::vector<Token> bench_tokens(int64_t n, int32_t n_vocab) {
  std::mt19937 random(1);
  std::vector<Token> tokens(static_cast<size_t>(n));
  for (Token& token : tokens) token = static_cast<Token>(random() % static_cast<uint32_t>(n_vocab));
  return tokens;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

std::string_view name_of(BenchTest::Kind kind) {
  switch (kind) {
    case BenchTest::Kind::prefill:
      return "prefill";
    case BenchTest::Kind::decode:
      return "decode";
    case BenchTest::Kind::verify:
      return "verify";
  }
  return "";
}

std::string name_of(const BenchTest& test) {
  const std::string many = test.n_sequences > 1 ? fmt::format("{} x ", test.n_sequences) : std::string();
  return fmt::format("{} {}{} @ {}", name_of(test.kind), many, test.n_tokens, test.depth);
}

Result<BenchResult> run_prefill(Session& session, const BenchTest& test, int64_t n_batch, int n_repetitions,
                                const Work& work) {
  const std::vector<Token> tokens = bench_tokens(test.n_tokens, session.model().tokenizer().n_vocab());
  PARLANCE_CHECK(run_once(session, test, tokens, n_batch, work));
  std::vector<double> seconds;
  for (int i = 0; i < n_repetitions; ++i) {
    PARLANCE_TRY(const double s, run_once(session, test, tokens, n_batch, work));
    seconds.push_back(s);
  }
  const auto [min, max] = std::minmax_element(seconds.begin(), seconds.end());
  return BenchResult{
      .median_s = median(seconds), .min_s = *min, .max_s = *max, .cost = cost_of(session, test, n_batch)};
}

}  // namespace parlance
