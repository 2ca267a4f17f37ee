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
