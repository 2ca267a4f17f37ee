// The cell of between_attentions(), see JoinsLayers.
#pragma once

#include "kernels/between_attentions.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

const Cell<BetweenAttentionsArgs>* between_attentions(const Gpu& gpu, const BetweenAttentionsArgs& args);
// The same of half_many()'s rows.
const Cell<BetweenAttentionsArgs>* between_attentions_of_answers(const Gpu& gpu,
                                                                 const BetweenAttentionsArgs& args);

}  // namespace parlance::cuda
