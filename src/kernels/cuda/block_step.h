// The cell of block_step(), see DecidesBlocks.
#pragma once

#include "kernels/block_step.h"

namespace parlance::cuda {

const Cell<BlockStepArgs>& block_step();

}  // namespace parlance::cuda
