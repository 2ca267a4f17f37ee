#include "capi/llama/sequence_text.h"

#include <algorithm>

namespace parlance::capi {

namespace {

TokenRun cut(const TokenRun& run, llama_pos begin, llama_pos end) {
  begin = std::clamp(begin, run.first, run.end());
  end = std::clamp(end, begin, run.end());
  return {begin, {run.tokens.begin() + (begin - run.first), run.tokens.begin() + (end - run.first)}};
}

void add_if_any(TokenRuns& runs, TokenRun run) {
  if (!run.tokens.empty()) runs.push_back(std::move(run));
}

}  // namespace

TokenRuns inside(const TokenRuns& runs, PosRange range) {
  TokenRuns found;
  for (const TokenRun& run : runs) add_if_any(found, cut(run, range.begin, range.end));
  return found;
}

TokenRuns outside(const TokenRuns& runs, PosRange range) {
  if (range.begin >= range.end) return runs;
  TokenRuns found;
  for (const TokenRun& run : runs) {
    add_if_any(found, cut(run, run.first, range.begin));
    add_if_any(found, cut(run, range.end, run.end()));
  }
  return found;
}

Result<TokenRuns> joined(TokenRuns runs) {
  std::ranges::sort(runs, {}, &TokenRun::first);
  TokenRuns all;
  for (TokenRun& run : runs) {
    if (run.first < 0)
      return fail(ErrorCode::invalid_argument, "a token would stand at position {}", run.first);
    if (all.empty() || all.back().end() < run.first) {
      all.push_back(std::move(run));
    } else if (all.back().end() == run.first) {
      all.back().tokens.insert(all.back().tokens.end(), run.tokens.begin(), run.tokens.end());
    } else {
      return fail(ErrorCode::invalid_argument, "two tokens would stand at position {}; remove one first",
                  run.first);
    }
  }
  return all;
}

TokenRuns SequenceText::runs() const {
  TokenRuns all;
  add_if_any(all, {first_, sequence_->tokens()});
  all.insert(all.end(), later_.begin(), later_.end());
  return all;
}

Result<void> SequenceText::set_runs(TokenRuns runs) {
  if (runs.empty()) runs.emplace_back();
  const std::vector<Token>& held = sequence_->tokens();
  const std::vector<Token>& wanted = runs.front().tokens;
  const auto n_common = std::ranges::mismatch(held, wanted).in1 - held.begin();
  const std::vector<Token> rest(wanted.begin() + n_common, wanted.end());
  const auto has_rows = [](const std::vector<Token>& tokens) {
    return std::ranges::any_of(tokens, [](Token token) { return token < 0; });
  };
  if (has_rows(rest) ||
      std::any_of(runs.begin() + 1, runs.end(), [&](const TokenRun& run) { return has_rows(run.tokens); }))
    return fail(ErrorCode::unsupported, "what follows the place was given as rows, which are not kept");
  sequence_->truncate(n_common);
  if (!rest.empty()) PARLANCE_CHECK(sequence_->append(rest));
  first_ = runs.front().first;
  later_.assign(std::make_move_iterator(runs.begin() + 1), std::make_move_iterator(runs.end()));
  return {};
}

Result<SequenceText> SequenceText::fork() const {
  PARLANCE_TRY(auto twin, sequence_->fork());
  SequenceText text(std::move(twin));
  text.first_ = first_;
  text.later_ = later_;
  return text;
}

}  // namespace parlance::capi
