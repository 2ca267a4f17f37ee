#include "cli/answer_report.h"

#include "cli/terminal/units.h"

namespace parlance {

namespace {

double per_second(int64_t n, double ms) {
  return n > 0 && ms > 0 ? static_cast<double>(n) * 1e3 / ms : 0;
}

}  // namespace

double prefill_tokens_per_second(const GenerateResult& result) {
  return per_second(result.n_prompt - result.n_prompt_cached, result.prefill_ms);
}

double decode_tokens_per_second(const GenerateResult& result) {
  return per_second(static_cast<int64_t>(result.tokens.size()) - 1, result.decode_ms);
}

std::string summary_of(const GenerateResult& result) {
  std::string text = fmt::format("{} prompt tokens ", result.n_prompt);
  if (result.n_prompt_cached > 0) text += fmt::format("({} remembered) ", result.n_prompt_cached);
  text += fmt::format("in {}, {} answer tokens in {}", format_ms(result.prefill_ms), result.tokens.size(),
                      format_ms(result.decode_ms));
  const double rate = decode_tokens_per_second(result);
  if (rate > 0) text += fmt::format(" ({} per second)", format_rate(rate));
  if (result.draft.n_drafted > 0) {
    text +=
        fmt::format(", {} of {} drafted tokens accepted, {:.2f} tokens a step", result.draft.n_accepted,
                    result.draft.n_drafted,
                    static_cast<double>(result.tokens.size()) / static_cast<double>(result.draft.n_steps));
  }
  return text;
}

Json to_json(const GenerateResult& result, const std::string& model, uint64_t seed) {
  return Json::object({{"text", result.text},
                       {"finish_reason", name_of(result.finish_reason)},
                       {"cut", result.is_cut},
                       {"model", model},
                       {"seed", seed},
                       {"prompt_tokens", result.n_prompt},
                       {"prompt_tokens_cached", result.n_prompt_cached},
                       {"answer_tokens", result.tokens.size()},
                       {"prefill_ms", result.prefill_ms},
                       {"decode_ms", result.decode_ms},
                       {"prefill_tokens_per_second", prefill_tokens_per_second(result)},
                       {"decode_tokens_per_second", decode_tokens_per_second(result)},
                       {"steps", result.draft.n_steps},
                       {"verification_steps", result.draft.n_verified},
                       {"drafted_tokens", result.draft.n_drafted},
                       {"drafted_tokens_accepted", result.draft.n_accepted},
                       {"drafted_tokens_rejected", result.draft.n_rejected()}});
}

}  // namespace parlance
