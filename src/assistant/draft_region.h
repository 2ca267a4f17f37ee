// What proposes tokens to an assistant's language model.
#pragma once

#include <memory>

#include "assistant/choice.h"
#include "assistant/text_region.h"
#include "base/result.h"
#include "models/dflash.h"

namespace parlance {

// The block drafter that the choice names, or that the bundle of its language model has; null: none. One that
// was named must fit the model; one of the bundle that does not is left out with a remark.
Result<std::shared_ptr<const Dflash>> load_drafter(const Choice& choice, const TextModel& target,
                                                   const OnRemark& on_remark);

}  // namespace parlance
