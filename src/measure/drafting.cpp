#include "measure/drafting.h"

#include "engine/generate.h"

namespace parlance {

Result<std::map<std::string, DraftingScore>> measure_drafting(
    Session& session, const std::vector<DraftingCase>& cases, const GenerateOptions& options,
    const std::function<void(int64_t)>& on_progress) {
  std::map<std::string, DraftingScore> scores;
  int64_t n_done = 0;
  for (const DraftingCase& one : cases) {
    GenerateResult results[2];  // plain, drafted
    for (int turn = 0; turn < 2; ++turn) {
      const bool drafts = (turn + n_done) % 2 == 1;
      GenerateOptions own = options;
      own.draft.is_on = drafts && options.draft.is_on;
      own.draft.is_required = own.draft.is_on && options.draft.is_required;
      if (!one.answer.empty()) {
        own.said = one.answer;
        own.max_tokens = std::ssize(one.answer);
        own.ignore_eos = true;
      }
      // Neither finds more of its text computed than the other.
      session.truncate(0);
      PARLANCE_TRY(results[drafts], generate(session, one.prompt, own));
      if (options.work.cancellation.cancelled())
        return fail(ErrorCode::cancelled, "stopped after {} answers", n_done);
    }
    DraftingScore& score = scores[one.kind];
    const auto& [plain, drafted] = results;
    ++score.n_answers;
    score.n_different += plain.tokens != drafted.tokens || plain.finish_reason != drafted.finish_reason;
    score.n_tokens += std::ssize(drafted.tokens);
    add(score.counts, drafted.draft);
    score.plain_ms += plain.decode_ms;
    score.drafted_ms += drafted.decode_ms;
    ++n_done;
    if (on_progress) on_progress(n_done);
  }
  return scores;
}

Result<void> give_answers(Session& session, std::vector<DraftingCase>& cases,
                          const GenerateOptions& options) {
  GenerateOptions plain = options;
  plain.draft = {.is_on = false};
  for (DraftingCase& one : cases) {
    PARLANCE_TRY(GenerateResult result, generate(session, one.prompt, plain));
    if (options.work.cancellation.cancelled()) return fail(ErrorCode::cancelled, "stopped");
    one.answer = std::move(result.tokens);
    if (result.has_end_token) one.answer.push_back(session.model().tokenizer().end_of_generation().front());
  }
  return {};
}

DraftingScore sum_of(const std::map<std::string, DraftingScore>& scores) {
  DraftingScore sum;
  for (const auto& [kind, score] : scores) {
    sum.n_answers += score.n_answers;
    sum.n_different += score.n_different;
    sum.n_tokens += score.n_tokens;
    add(sum.counts, score.counts);
    sum.plain_ms += score.plain_ms;
    sum.drafted_ms += score.drafted_ms;
  }
  return sum;
}

}  // namespace parlance
