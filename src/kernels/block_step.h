// A step of MaskGIT decoding block by block (tts/block_maskgit.h) for devices that take it; elsewhere the
// host decides.
#pragma once

#include "kernels/op_table.h"

namespace parlance {

class Device;
class Stream;

// What a step is told beside the logits, in device memory as MaskGitMove is.
struct BlockMove {
  MaskGitMove step;  // its fault is counted from the block's first frame
  // Where the block begins in the grid that noise is numbered by, and the frames of that.
  int32_t first_frame, n_frames;
  float marginal, confidence;  // as BlockOptions has them
};

struct BlockStepArgs {
  Tensor conditional;           // f32 [n_codebook * n_vocab, n_frames], of the block's frames
  Tensor unconditional;         // the same; or absent without guidance
  Tensor codes;                 // i32 [n_frames, n_codebook]: k * n_vocab + code of codebook k
  Tensor move;                  // i8 [sizeof(BlockMove)]
  int32_t mask;                 // the code of a slot that is not decided
  bool has_marginals, may_end;  // whether the move's marginal is above 0, its confidence below 1
};

// What such a device is beside a Device.
class DecidesBlocks {
 public:
  virtual ~DecidesBlocks() = default;
  virtual const Cell<BlockStepArgs>& block_step() const = 0;
};

bool decides_blocks(const Device& device);

// Of the slots that are masked, those that the logits are surest of get their codes, or all of them where the
// rest is sure enough.
void block_step(Stream& s, const BlockStepArgs& args);

}  // namespace parlance
