#include "kernels/block_step.h"

#include <cassert>

#include "kernels/submit.h"

namespace parlance {

bool decides_blocks(const Device& device) {
  return dynamic_cast<const DecidesBlocks*>(&device) != nullptr;
}

void block_step(Stream& s, const BlockStepArgs& args) {
  assert(args.codes.dtype == DType::i32 && args.conditional.dtype == DType::f32);
  assert(args.conditional.ne[0] % args.codes.ne[1] == 0 && args.conditional.ne[1] == args.codes.ne[0]);
  assert(!args.unconditional || args.unconditional.ne == args.conditional.ne);
  assert(args.move.size() == sizeof(BlockMove));
  submit(s, dynamic_cast<const DecidesBlocks&>(s.device()).block_step(), args, "block_step", "");
}

}  // namespace parlance
