// Drafts of a block drafter (models/dflash.h), which knows a text as the model of the context knows it.
#pragma once

#include "engine/drafter.h"
#include "engine/runner.h"

namespace parlance {

class BlockDrafter final : public Drafter {
 public:
  // For a context that was made with such a drafter, by whose runner its passes are made.
  BlockDrafter(Context& context, Runner& runner);

  std::string_view name() const override { return "dflash"; }
  Result<void> draft(std::span<DraftJob* const> jobs) override;

 private:
  Context& context_;
  Runner& runner_;
  const Dflash& model_;
};

}  // namespace parlance
