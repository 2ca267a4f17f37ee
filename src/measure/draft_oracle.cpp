#include "measure/draft_oracle.h"

#include <algorithm>
#include <utility>

#include "engine/sequence.h"

namespace parlance {

class DraftOracle::Proposer final : public Drafter {
 public:
  Proposer(const DraftOracle& oracle, std::unique_ptr<Drafter> drafter)
      : oracle_(oracle), drafter_(std::move(drafter)) {}

  std::string_view name() const override { return "oracle"; }
  bool computes() const override { return drafter_ && drafter_->computes(); }
  bool writes_token_by_token() const override { return drafter_ && drafter_->writes_token_by_token(); }
  Result<void> read(std::span<DraftJob* const> jobs) override {
    return drafter_ ? drafter_->read(jobs) : Result<void>();
  }
  Result<void> draft(std::span<DraftJob* const> jobs) override {
    if (drafter_) PARLANCE_CHECK(drafter_->draft(jobs));
    for (DraftJob* const job : jobs) {
      const int64_t n = drafter_ ? job->draft.n_tokens() : job->most;
      job->draft = {};
      const std::vector<Token>& known = job->sequence->tokens();
      const auto begin = oracle_.text_.begin() + std::min(std::ssize(known), std::ssize(oracle_.text_));
      if (!std::equal(oracle_.text_.begin(), begin, known.begin(), known.end())) continue;
      for (auto token = begin; token != oracle_.text_.end() && job->draft.n_tokens() < n; ++token)
        job->draft.add(*token, 1);
    }
    return {};
  }

 private:
  const DraftOracle& oracle_;
  std::unique_ptr<Drafter> drafter_;
};

void DraftOracle::expect(std::vector<Token> text) {
  text_ = std::move(text);
}

std::unique_ptr<Drafter> DraftOracle::in_place_of(std::unique_ptr<Drafter> drafter) const {
  return std::make_unique<Proposer>(*this, std::move(drafter));
}

}  // namespace parlance
