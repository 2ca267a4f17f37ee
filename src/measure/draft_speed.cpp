#include "measure/draft_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "assistant/conversation.h"
#include "engine/generate.h"
#include "engine/scheduler.h"
#include "measure/step_cost.h"
#include "measure/text_steps.h"

namespace parlance {

namespace {

// No two of them alike, as in real notes: looking up what stood before finds little.
std::string notes(int64_t n) {
  constexpr const char* kThings[] = {"lamp", "chair", "ladder", "kettle", "basket", "mirror", "bell"};
  constexpr const char* kPlaces[] = {"hall", "cellar", "office", "garden", "attic"};
  std::string text;
  for (int64_t i = 0; i < n; ++i) {
    text += fmt::format("There are {} of the {} kind in the {}, and box {} has the key. ", (i * 37 + 11) % 97,
                        kThings[i * 5 % 7], kPlaces[i * 3 % 5], (i * 61 + 7) % 211);
  }
  return text;
}

// A question behind as many notes as fill `depth` tokens.
Result<std::vector<Token>> question(const Session& session, int64_t depth) {
  const std::string asked = "Count from 1 to 200.";
  const auto prompt = [&](int64_t n_notes) {
    return prompt_tokens(session.model(), {{.role = "user", .content = notes(n_notes) + asked}},
                         /*has_thinking=*/false);
  };
  PARLANCE_TRY(std::vector<Token> tokens, prompt(0));
  for (int64_t n_notes = 1; std::ssize(tokens) < depth;) {
    PARLANCE_TRY(tokens, prompt(n_notes));
    const int64_t n_each = std::max<int64_t>(1, std::ssize(tokens) / n_notes);
    n_notes += std::max<int64_t>(1, (depth - std::ssize(tokens)) / (n_each + 1));
  }
  return tokens;
}

}  // namespace

double DraftSpeed::tokens_a_verification() const {
  return counts.n_verified > 0
             ? 1 + static_cast<double>(counts.n_accepted) / static_cast<double>(counts.n_verified)
             : 0;
}

double DraftSpeed::tokens_a_step() const {
  return counts.n_steps > 0 ? 1 + static_cast<double>(counts.n_accepted) / static_cast<double>(counts.n_steps)
                            : 0;
}

Result<DraftSpeed> measure_draft_speed(Session& session, int64_t depth, int64_t n_tokens, int n_repetitions,
                                       const DraftOptions& draft, DraftOracle* oracle, const Work& work) {
  DraftSpeed speed;
  speed.n_tokens = n_tokens;
  PARLANCE_TRY(const std::vector<Token> prompt, question(session, depth));
  speed.n_prompt = std::ssize(prompt);
  GenerateOptions options;
  options.max_tokens = n_tokens;
  options.ignore_eos = true;
  options.draft = draft;
  options.work = work;
  options.sampling.temperature = 0;
  std::vector<double> plain, drafted, ratios;
  double draft_ms = 0, verify_ms = 0, drafted_ms = 0;
  for (int i = 0; i <= n_repetitions; ++i) {
    GenerateResult results[2];
    for (int turn = 0; turn < 2; ++turn) {
      const bool drafts = (turn + i) % 2 == 1;  // at first not: an oracle has to know what is said
      options.draft.is_on = drafts && draft.is_on;
      options.draft.is_required = drafts && draft.is_required;
      const SchedulerStats before = session.context().scheduler().stats();
      PARLANCE_TRY(results[drafts], generate(session, prompt, options));
      if (work.cancellation.cancelled()) return fail(ErrorCode::cancelled, "stopped");
      if (oracle && !drafts) {
        std::vector<Token> text = prompt;
        text.insert(text.end(), results[0].tokens.begin(), results[0].tokens.end());
        oracle->expect(std::move(text));
      }
      const SchedulerStats after = session.context().scheduler().stats();
      if (i == 0 || !drafts) continue;
      draft_ms += after.draft_ms - before.draft_ms;
      verify_ms += after.verify_ms - before.verify_ms;
      drafted_ms += results[drafts].decode_ms;
      add(speed.counts, results[drafts].draft);
    }
    if (results[0].tokens != results[1].tokens) {
      return fail(
          ErrorCode::corrupt_file,
          "{}: the answer with drafts differs from the one without at {} tokens of context; this is a "
          "fault of the program, please report it",
          session.model().file().name(), speed.n_prompt);
    }
    if (i == 0) continue;
    plain.push_back(results[0].decode_ms / 1000);
    drafted.push_back(results[1].decode_ms / 1000);
    ratios.push_back(results[0].decode_ms / std::max(results[1].decode_ms, 1e-9));
  }
  speed.plain_s = median(plain);
  speed.drafted_s = median(drafted);
  speed.min_ratio = *std::ranges::min_element(ratios);
  speed.max_ratio = *std::ranges::max_element(ratios);
  speed.draft_share = draft_ms / std::max(drafted_ms, 1e-9);
  speed.verify_share = verify_ms / std::max(drafted_ms, 1e-9);
  const CostModel model(session.model(), session.kv_bytes_per_token(), session.state_bytes());
  speed.bytes = model.step(1, speed.n_prompt + n_tokens / 2).bytes;
  return speed;
}

}  // namespace parlance
