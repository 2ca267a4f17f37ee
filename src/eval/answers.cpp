#include "eval/answers.h"

#include "assistant/conversation.h"

namespace parlance {

Result<AnswerScores> score_answers(const std::vector<EvalQuestion>& questions, const GenerateOptions& options,
                                   Session& session, const EvalWatch& watch) {
  GenerateOptions own = options;
  own.work.cancellation = watch.cancellation;
  AnswerScores scores;
  for (const EvalQuestion& question : questions) {
    watch.show([&] {
      return fmt::format("{}/{}  {} right", scores.total.n, questions.size(), scores.total.n_right);
    });
    PARLANCE_TRY(const auto tokens,
                 prompt_tokens(session.model(), question.messages, /*has_thinking=*/false));
    const auto fits = check_fits(session, tokens.size());
    if (!fits) return fail(fits.error().code, "question {}: {}", question.id, fits.error().message);
    PARLANCE_TRY(GenerateResult result, generate(session, tokens, own));
    if (watch.cancellation.cancelled()) {
      return fail(ErrorCode::cancelled, "stopped after {} of {} questions", scores.total.n, questions.size());
    }
    const bool right = is_right(question, result.text);
    for (AnswerScore* score : {&scores.total, &scores.by_category[question.category]}) {
      ++score->n;
      score->n_right += right;
    }
    if (!right) scores.wrong.push_back({&question, std::move(result.text)});
  }
  return scores;
}

}  // namespace parlance
