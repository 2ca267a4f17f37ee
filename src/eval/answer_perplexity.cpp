#include "eval/answer_perplexity.h"

#include <algorithm>
#include <cmath>

#include "assistant/conversation.h"

namespace parlance {

namespace {

// -ln softmax(logits)[token]
double nats_of(std::span<const float> logits, Token token) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum) - static_cast<double>(logits[static_cast<size_t>(token)]);
}

}  // namespace

double AnswerPerplexity::perplexity() const {
  return n_tokens > 0 ? std::exp(nats / static_cast<double>(n_tokens)) : 1;
}

Result<AnswerPerplexity> measure_perplexity(const std::vector<EvalQuestion>& questions, Session& session,
                                            const EvalWatch& watch) {
  const Work work{.cancellation = watch.cancellation};
  AnswerPerplexity measured;
  for (const EvalQuestion& question : questions) {
    watch.show([&] {
      return fmt::format("{}/{}  {:.4f}", measured.n_questions, questions.size(), measured.perplexity());
    });
    PARLANCE_TRY(const auto prompt,
                 prompt_tokens(session.model(), question.messages, /*has_thinking=*/false));
    const std::vector<Token> answer = session.model().tokenizer().encode(question.answers.front());
    const auto fits = check_fits(session, prompt.size() + answer.size());
    if (!fits) return fail(fits.error().code, "question {}: {}", question.id, fits.error().message);
    session.truncate(0);  // what questions have in common is computed for each anew
    PARLANCE_TRY(std::span<const float> logits, session.set_prompt(prompt, work));
    for (size_t i = 0; i < answer.size(); ++i) {
      measured.nats += nats_of(logits, answer[i]);
      if (i + 1 == answer.size()) break;
      PARLANCE_TRY(logits, session.append({&answer[i], 1}, 1, {}, work));
    }
    measured.n_tokens += static_cast<int64_t>(answer.size());
    ++measured.n_questions;
  }
  return measured;
}

}  // namespace parlance
