// What proposes tokens to an assistant's language model.
#pragma once

#include <memory>

#include "assistant/choice.h"
#include "assistant/text_region.h"
#include "base/result.h"
#include "engine/text_model.h"
#include "models/dflash.h"

namespace parlance {

// One of them, or none.
struct DraftModels {
  std::shared_ptr<const Dflash> block;
  std::shared_ptr<const TextModel> model;
  size_t bytes = 0;  // of weights
};

// Whether something may draft, as far as can be told before the model is loaded.
Result<bool> may_draft(const Choice& choice);

// The drafter that the choice names, or that the bundle of its language model has: a block drafter, or a
// language model with the target's vocabulary, which then runs on `device`. One that was named must fit the
// model; one of the bundle that does not is left out with a remark.
Result<DraftModels> load_drafter(const Choice& choice, const TextModel& target, Device& device,
                                 const OnRemark& on_remark);

// The model's context with these drafters. Where memory lacks, in batches of least_batch tokens if that is
// fewer; then, for a drafter that may go, without it, with a remark: `drafters` are then none.
Result<std::shared_ptr<Context>> create_context(const TextModel& model, SessionOptions options,
                                                DraftModels& drafters, int64_t least_batch, bool may_go,
                                                const OnRemark& on_remark);

}  // namespace parlance
