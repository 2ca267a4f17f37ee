// Drafts of a second, smaller language model, which writes on token by token (Leviathan et al., arXiv
// 2211.17192). It reads the texts itself, into a cache of its own.
#pragma once

#include <memory>
#include <vector>

#include "engine/drafter.h"
#include "engine/runner.h"

namespace parlance {

class ModelDrafter final : public Drafter {
 public:
  // With a context of the second model, that nobody else uses and that has as many sequences as the one that
  // is drafted for. That one's vocabulary has n_vocab tokens; of those that the second one lacks it reads the
  // first of all instead.
  ModelDrafter(std::shared_ptr<Context> context, int64_t n_vocab);
  ~ModelDrafter() override;

  std::string_view name() const override { return "draft"; }
  bool writes_token_by_token() const override { return true; }
  Result<void> read(std::span<DraftJob* const> jobs) override;
  Result<void> draft(std::span<DraftJob* const> jobs) override;

 private:
  struct Writer {
    DraftJob* job;
    Sequence* sequence;  // of the second model: the text, as far as it is known, and the draft
    int64_t n_rows = 0;  // in the step that is being made
  };
  Sequence* follow(const DraftJob& job);
  std::vector<Writer> writers_of(std::span<DraftJob* const> jobs);
  bool prepare(const Slice& slice, std::span<const Writer> writers);
  Result<bool> step(std::vector<Writer>& writers, bool reads_only = false);
  void write(std::vector<Writer>& writers);
  std::vector<Token> readable(std::span<const Token> text) const;

  std::shared_ptr<Context> context_;
  const int64_t n_vocab_;  // tokens that both know
  Runner runner_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // by the slot of the text's own
};

}  // namespace parlance
