// Prompt lookup (Saxena, 2023): what followed when the last few tokens stood in the text before, which is
// often right where an answer quotes. No model is asked.
#pragma once

#include <vector>

#include "engine/drafter.h"
#include "engine/lookup_index.h"

namespace parlance {

class LookupDrafter final : public Drafter {
 public:
  // For texts in so many slots (Sequence::slot()).
  explicit LookupDrafter(int n_slots) : by_slot_(static_cast<size_t>(n_slots)) {}

  std::string_view name() const override { return "lookup"; }
  bool computes() const override { return false; }
  Result<void> read(std::span<DraftJob* const> jobs) override;
  Result<void> draft(std::span<DraftJob* const> jobs) override;

 private:
  LookupIndex& index_of(const DraftJob& job);

  std::vector<LookupIndex> by_slot_;
};

}  // namespace parlance
