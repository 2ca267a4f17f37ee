#include "eval/device_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "assistant/conversation.h"

namespace parlance {

namespace {

// The logit of what a reply says next at `position`: its token there, or the likeliest end when it has come
// to one.
float logit_of(const GenerateResult& result, int64_t position, const Tokenizer& tokenizer,
               std::span<const float> logits) {
  const auto at = static_cast<size_t>(position);
  if (at < result.tokens.size()) return logits[static_cast<size_t>(result.tokens[at])];
  float best = -std::numeric_limits<float>::infinity();
  for (size_t token = 0; token < logits.size(); ++token) {
    if (tokenizer.is_end_of_generation(static_cast<Token>(token))) best = std::max(best, logits[token]);
  }
  return best;
}

// By how much the reference prefers its own token where the replies part.
Result<float> margin_at(Session& reference, std::vector<Token> text, const GenerateResult& expected,
                        const GenerateResult& got, int64_t position, const Work& work) {
  const Tokenizer& tokenizer = reference.model().tokenizer();
  text.insert(text.end(), expected.tokens.begin(), expected.tokens.begin() + position);
  PARLANCE_TRY(const std::span<const float> logits, reference.set_prompt(text, work));
  return logit_of(expected, position, tokenizer, logits) - logit_of(got, position, tokenizer, logits);
}

}  // namespace

bool DeviceComparison::is_explained() const {
  return std::all_of(differences.begin(), differences.end(),
                     [](const Difference& difference) { return difference.margin <= kCloseCall; });
}

Result<DeviceComparison> compare_replies(const std::vector<EvalQuestion>& questions,
                                         const GenerateOptions& options, Session& tested, Session& reference,
                                         const EvalWatch& watch) {
  GenerateOptions own = options;
  own.work.cancellation = watch.cancellation;
  DeviceComparison comparison;
  for (const EvalQuestion& question : questions) {
    watch.show([&] {
      return fmt::format("{}/{}  {} differ", comparison.n_questions, questions.size(),
                         comparison.differences.size());
    });
    PARLANCE_TRY(const auto tokens, prompt_tokens(tested.model(), question.messages, /*has_thinking=*/false));
    const auto fits = check_fits(tested, tokens.size());
    if (!fits) return fail(fits.error().code, "question {}: {}", question.id, fits.error().message);
    PARLANCE_TRY(const GenerateResult got, generate(tested, tokens, own));
    PARLANCE_TRY(const GenerateResult expected, generate(reference, tokens, own));
    if (watch.cancellation.cancelled()) {
      return fail(ErrorCode::cancelled, "stopped after {} of {} questions", comparison.n_questions,
                  questions.size());
    }
    ++comparison.n_questions;
    comparison.n_tokens += static_cast<int64_t>(expected.tokens.size());
    if (got.tokens == expected.tokens && got.finish_reason == expected.finish_reason) continue;
    const auto position =
        std::mismatch(got.tokens.begin(), got.tokens.end(), expected.tokens.begin(), expected.tokens.end())
            .first -
        got.tokens.begin();
    PARLANCE_TRY(const float margin, margin_at(reference, tokens, expected, got, position, own.work));
    comparison.differences.push_back({&question, position, margin, got.text, expected.text});
  }
  return comparison;
}

}  // namespace parlance
