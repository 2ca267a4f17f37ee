// Prompt lookup (Saxena, 2023): what followed when the last few tokens stood in the text before, which is
// often right where an answer quotes. No model is asked.
#pragma once

#include "engine/drafter.h"

namespace parlance {

// The tokens, `most` at most, that followed the latest earlier place where the last tokens stand, the longer
// run of these first; none when not even kLeastMatch of them do.
std::vector<Token> look_up(std::span<const Token> text, int64_t most);

class LookupDrafter final : public Drafter {
 public:
  std::string_view name() const override { return "lookup"; }
  bool computes() const override { return false; }
  Result<void> draft(std::span<DraftJob* const> jobs) override;
};

}  // namespace parlance
