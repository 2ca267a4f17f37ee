// MaskGIT decoding (maskgit.h) block by block of frames, from left to right, with an early end where the
// network is sure of the rest:
//
//   BlockMaskGit decoder(options, shape, noise_calls);
//   for (... each block ...) {
//     decoder.begin(first, end, n_step);
//     while (decoder.next()) {
//       ... ask the network for decoder.undecided(), given decoder.tokens() ...
//       PARLANCE_CHECK(decoder.take(logits));
//     }
//   }
//
// Where the device decides by itself (block_step() of kernels/block_step.h), it is told hand_over(), and what
// the block's codes are then is told accept(), in place of take().
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/block_step.h"
#include "tts/code_slot.h"
#include "tts/maskgit.h"

namespace parlance {

struct BlockOptions {
  MaskGitOptions decoding;  // but for the number of steps, which begin() is told
  // How much of a code's log-probability in the block at large is taken from that in its place, when places
  // are chosen: what is likely everywhere says little (Chatterbox-Flash, 2605.30748). 0: nothing.
  float marginal = 0;
  // A block ends when the codes still open are right with this probability, coarse ones counting more; 1:
  // never before its last step.
  float confidence = 1;
};

class BlockMaskGit {
 public:
  // Checked options; `noise_calls` as MaskGit has it.
  BlockMaskGit(const BlockOptions& options, const CodeGridShape& shape, uint64_t& noise_calls,
               Isa isa = available_isas().back());

  // The frames [first, end), none of which is decided yet, in n_step steps at most.
  void begin(int64_t first, int64_t end, int n_step);
  // Whether a pass is due; then take() must follow.
  bool next();
  // Slots of the block, by codebook and frame.
  std::span<const CodeSlot> undecided() const { return undecided_; }

  // Logits of undecided slot i, (n_vocab) each: `unconditional` is null where guidance is 0. Refuses numbers
  // that are not finite.
  struct SlotLogits {
    const float *conditional, *unconditional;
  };
  Result<void> take(const std::function<SlotLogits(size_t i)>& logits, ShareOut share_out = one_by_one);

  // The step that is due, for a device that takes it; accept() must follow: with the codes of the block,
  // [n_codebook][end - first], the mask's id where nothing is decided yet.
  BlockMove hand_over();
  void accept(std::span<const int32_t> codes);

  // (n_codebook, n_frames), the mask's id where nothing is decided yet.
  std::span<const int32_t> tokens() const { return tokens_; }
  size_t n_decided() const { return n_decided_; }
  int n_steps_done() const { return n_steps_done_; }  // of all blocks

 private:
  struct Choice {
    float score, probability;
    int32_t token;
    size_t slot;  // number among those undecided
  };

  size_t index_of(const CodeSlot& slot) const {
    return static_cast<size_t>(slot.codebook * shape_.n_frames + slot.frame);
  }
  // Undecided slots [first, end), which are one task.
  struct Slots {
    size_t first, end;
  };
  std::vector<Slots> tasks() const;
  MaskGitMove next_move();
  Result<void> choose(const std::function<SlotLogits(size_t i)>& logits, uint64_t class_calls,
                      ShareOut share_out);
  void choose(const std::function<SlotLogits(size_t i)>& logits, const Slots& slots, uint64_t class_calls,
              SlotRoom& room);
  void subtract_marginals();
  void add_noise(uint64_t call);
  bool is_sure_of(std::span<const Choice> rest) const;
  void decide(std::span<const Choice> chosen);
  void end_step();  // which has decided all that it is to

  BlockOptions options_;
  CodeGridShape shape_;
  uint64_t* noise_calls_;
  GuidedLogProbs* guided_log_probs_;
  std::vector<int32_t> tokens_;
  size_t n_decided_ = 0;
  int n_steps_done_ = 0;

  int64_t first_ = 0, end_ = 0;  // of the block
  std::vector<int64_t> slots_per_step_;
  size_t step_ = 0;
  std::vector<CodeSlot> undecided_;
  std::vector<Choice> choices_;   // of the step that is taken
  std::vector<SlotRoom> rooms_;   // of its tasks
  std::vector<float> marginals_;  // (n_codebook, n_vocab): sums of probabilities
};

}  // namespace parlance
