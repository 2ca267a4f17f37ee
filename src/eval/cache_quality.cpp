#include "eval/cache_quality.h"

#include <algorithm>
#include <cmath>

#include "assistant/conversation.h"
#include "engine/generate.h"

namespace parlance {

namespace {

// Positions before the answer whose predictions are compared too: more numbers from every long prompt.
constexpr size_t kComparedBefore = 24;
constexpr int64_t kReplyTokens = 48;

// ln softmax of logits.
std::vector<float> log_probabilities(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  const double shift = largest + std::log(sum);
  std::vector<float> result;
  result.reserve(logits.size());
  for (const float logit : logits) result.push_back(static_cast<float>(static_cast<double>(logit) - shift));
  return result;
}

size_t likeliest(const std::vector<float>& log_p) {
  return static_cast<size_t>(std::max_element(log_p.begin(), log_p.end()) - log_p.begin());
}

// Nats from p to q.
double divergence(const std::vector<float>& p, const std::vector<float>& q) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    sum += std::exp(static_cast<double>(p[i])) * (static_cast<double>(p[i]) - static_cast<double>(q[i]));
  }
  return std::max(sum, 0.0);
}

// A question as tokens: what is read at once, and what is then read token by token.
struct Reading {
  std::vector<Token> prompt;
  std::vector<Token> compared;  // the end of the prompt, and the answer
  size_t n_before = 0;          // of these, in the prompt
};

Result<Reading> reading_of(const Session& session, const EvalQuestion& question) {
  Reading reading;
  PARLANCE_TRY(reading.prompt, prompt_tokens(session.model(), question.messages, /*has_thinking=*/false));
  const std::vector<Token> answer = session.model().tokenizer().encode(question.answers.front());
  const auto fits = check_fits(session, reading.prompt.size() + answer.size() + kReplyTokens);
  if (!fits) return fail(fits.error().code, "question {}: {}", question.id, fits.error().message);
  reading.n_before = std::min(kComparedBefore, reading.prompt.size() - 1);
  reading.compared.assign(reading.prompt.end() - static_cast<std::ptrdiff_t>(reading.n_before),
                          reading.prompt.end());
  reading.compared.insert(reading.compared.end(), answer.begin(), answer.end());
  return reading;
}

// What begins each piece of a text, and how many of its last tokens are compared; whole pieces only.
constexpr size_t kPieceTokens = 1024, kPieceCompared = 96;

// Pieces of a text, as many as are whole; a short text is one.
std::vector<Reading> readings_of(const TextModel& model, std::string_view text, int64_t n_ctx) {
  const std::vector<Token> tokens = model.tokenizer().encode(text, {.add_special = true});
  const size_t n_piece = std::min({kPieceTokens, tokens.size(), static_cast<size_t>(n_ctx)});
  std::vector<Reading> readings;
  if (n_piece < 2) return readings;
  const size_t n_compared = std::min(kPieceCompared, n_piece / 2);
  for (size_t first = 0; first + n_piece <= tokens.size(); first += n_piece) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
    const auto middle = begin + static_cast<std::ptrdiff_t>(n_piece - n_compared);
    Reading& reading = readings.emplace_back();
    reading.prompt.assign(begin, middle);
    reading.compared.assign(middle, begin + static_cast<std::ptrdiff_t>(n_piece));
  }
  return readings;
}

// What the model predicts for each compared token.
Result<std::vector<std::vector<float>>> predictions(Session& session, const Reading& reading,
                                                    const Work& work) {
  std::vector<std::vector<float>> all;
  const size_t n_first = reading.prompt.size() - reading.n_before;
  PARLANCE_TRY(std::span<const float> logits,
               session.set_prompt(std::span(reading.prompt).first(n_first), work));
  for (size_t i = 0; i < reading.compared.size(); ++i) {
    all.push_back(log_probabilities(logits));
    if (i + 1 < reading.compared.size()) {
      PARLANCE_TRY(logits, session.append({&reading.compared[i], 1}, 1, {}, work));
    }
  }
  return all;
}

// What is summed up of a case.
struct Sums {
  double nats = 0;
  int64_t n_answer_tokens = 0;
  int64_t n_same = 0;
  std::vector<double> divergences;
  std::map<std::string, std::pair<int64_t, int64_t>> right;  // right, all

  void add(const Reading& reading, const std::vector<std::vector<float>>& got,
           const std::vector<std::vector<float>>& want) {
    for (size_t i = 0; i < got.size(); ++i) {
      divergences.push_back(divergence(want[i], got[i]));
      n_same += likeliest(want[i]) == likeliest(got[i]);
      if (i < reading.n_before) continue;
      nats -= static_cast<double>(got[i][static_cast<size_t>(reading.compared[i])]);
      ++n_answer_tokens;
    }
  }
};

CacheQuality quality_of(const CacheCase& c, const KvLayout& layout, Sums sums, double first_nats) {
  CacheQuality quality;
  quality.name = c.name;
  quality.bytes_per_token = layout.bytes_per_token();
  quality.bits_per_value =
      8.0 * static_cast<double>(layout.bytes_per_token()) /
      static_cast<double>(layout.n_layer * layout.n_head_kv * (layout.head_dim_k + layout.head_dim_v));
  const auto n = static_cast<double>(std::max<size_t>(sums.divergences.size(), 1));
  for (const double d : sums.divergences) quality.kl_mean += d / n;
  std::sort(sums.divergences.begin(), sums.divergences.end());
  if (!sums.divergences.empty()) {
    quality.kl_p99 = sums.divergences[(sums.divergences.size() - 1) * 99 / 100];
  }
  quality.top1 = static_cast<double>(sums.n_same) / n;
  const auto n_tokens = static_cast<double>(std::max<int64_t>(sums.n_answer_tokens, 1));
  quality.perplexity_ratio = std::exp((sums.nats - first_nats) / n_tokens);
  for (const auto& [category, right] : sums.right) {
    quality.n_right[category] = static_cast<double>(right.first) / static_cast<double>(right.second);
  }
  return quality;
}

}  // namespace

Result<std::vector<CacheQuality>> measure_cache_quality(const TextModel& model, const SessionOptions& options,
                                                        const CacheReading& reading,
                                                        const std::vector<CacheCase>& cases,
                                                        const EvalWatch& watch) {
  std::vector<std::vector<std::vector<float>>> references;  // of each piece that is read, in the first case
  std::vector<CacheQuality> results;
  double first_nats = 0;
  const Work work{.cancellation = watch.cancellation};
  for (const CacheCase& c : cases) {
    SessionOptions own = options;
    own.cache = c.policy;
    PARLANCE_TRY(const auto session, Session::create(model, own));
    std::vector<Reading> readings = readings_of(model, reading.text, session->n_ctx());
    for (const EvalQuestion& question : reading.questions) {
      PARLANCE_TRY(readings.emplace_back(), reading_of(*session, question));
    }
    if (readings.empty()) return fail(ErrorCode::invalid_argument, "there is nothing to read; give a longer text");
    const size_t first_question = readings.size() - reading.questions.size();
    Sums sums;
    for (size_t i = 0; i < readings.size(); ++i) {
      watch.show([&] { return fmt::format("{}  {}/{}", c.name, i, readings.size()); });
      PARLANCE_TRY(auto got, predictions(*session, readings[i], work));
      if (results.empty()) references.push_back(got);
      sums.add(readings[i], got, references[i]);
      if (watch.cancellation.cancelled()) return fail(ErrorCode::cancelled, "stopped at {}", c.name);
      if (i < first_question) continue;
      GenerateOptions greedy;
      greedy.sampling.temperature = 0;
      greedy.max_tokens = kReplyTokens;
      greedy.work.cancellation = watch.cancellation;
      PARLANCE_TRY(const GenerateResult reply, generate(*session, readings[i].prompt, greedy));
      const EvalQuestion& question = reading.questions[i - first_question];
      auto& right = sums.right[question.category];
      right.first += is_right(question, reply.text);
      ++right.second;
    }
    if (results.empty()) first_nats = sums.nats;
    results.push_back(quality_of(c, session->context().layout(), std::move(sums), first_nats));
  }
  return results;
}

}  // namespace parlance
