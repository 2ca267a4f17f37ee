// MaskGIT decoding: all slots of the grid of codes begin masked, and each step decides those that the network
// is surest of. The network is somewhere else:
//
//   MaskGit decoder(options, shape, noise_calls);
//   while (decoder.next()) {
//     ... run the network on decoder.tokens() ...
//     PARLANCE_CHECK(decoder.take(cond_logits, uncond_logits));
//   }
//   decoder.tokens() is the speech.
//
// Where the device decides by itself (maskgit_step() of kernels/ops.h), it is told hand_over() in place of
// take(), and has the speech.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/checked.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "kernels/op_table.h"
#include "tts/guided_log_probs.h"

namespace parlance {

struct MaskGitOptions {
  int n_step = 32;
  float guidance = 2;              // 0: the network runs without its unconditional row
  float t_shift = 0.1f;            // below 1: early steps decide few slots
  float layer_penalty = 5;         // per codebook: the first ones are decided first
  float position_temperature = 5;  // 0: always the surest slots
  float class_temperature = 0;     // 0: always the likeliest code
  uint64_t seed = 42;
};

// Refuses numbers that the decoder has no meaning for.
Result<void> check_options(const MaskGitOptions& options);

// A code drawn by `log_probs` (n_vocab), from the likelier ones; `scratch` is as large.
int32_t drawn_code(std::span<const float> log_probs, const MaskGitOptions& options, uint64_t noise_call,
                   std::vector<float>& scratch);

// The error of logits that are no finite numbers.
tl::unexpected<Error> damaged_logits(int64_t frame, int64_t codebook);

struct CodeGridShape {
  int64_t n_codebook, n_frames, n_vocab;
  int32_t mask_id;
};

// Who shares out the work of a decoder's step: calls task(i) for every i in [0, n_tasks). What is decided
// does not depend on it.
using ShareOut = FunctionRef<void(int64_t n_tasks, FunctionRef<void(int64_t task)> task)>;
inline constexpr auto one_by_one = [](int64_t n_tasks, FunctionRef<void(int64_t task)> task) {
  for (int64_t i = 0; i < n_tasks; ++i) task(i);
};

inline constexpr int64_t kSlotsOfTask = 8;  // tens of microseconds

// A task's room for what is known of one slot. Made before tasks are shared out, since threads have nobody to
// tell that memory is gone.
struct SlotRoom {
  std::vector<float> log_probs, scratch;  // (n_vocab) each
};
void make_rooms(std::vector<SlotRoom>& rooms, int64_t n_tasks, int64_t n_vocab);

class MaskGit {
 public:
  // Checked options. `noise_calls` counts the draws of a whole request: it begins at 0 and goes on from one
  // part of a long text to the next.
  MaskGit(const MaskGitOptions& options, const CodeGridShape& shape, uint64_t& noise_calls,
          Isa isa = available_isas().back());

  // Whether a forward pass is due; then take() must follow. Steps that decide nothing are skipped.
  bool next();

  // (n_codebook, n_frames), the mask's id where nothing is decided yet.
  std::span<const int32_t> tokens() const { return tokens_; }

  // What the network says of the grid, (n_frames, n_codebook, n_vocab) each: as rows of the audio heads come
  // for each frame. `uncond` is empty where guidance is 0. Refuses numbers that are not finite.
  Result<void> take(std::span<const float> cond, std::span<const float> uncond,
                    ShareOut share_out = one_by_one);

  // The step that is due, for a device that takes it; it counts as done.
  MaskGitMove hand_over();

  int n_steps_done() const { return n_steps_done_; }
  int n_steps_total() const { return n_steps_total_; }  // those that decide something

 private:
  struct Slot {
    float score;
    int64_t codebook, frame;
  };

  int64_t index_of(const Slot& slot) const { return slot.codebook * shape_.n_frames + slot.frame; }
  // Calls what(slot, room) for each of them, in tasks of several.
  template <class What>
  void for_each_slot(ShareOut share_out, std::span<Slot> slots, const What& what) {
    const int64_t n_tasks = div_up<int64_t>(std::ssize(slots), kSlotsOfTask);
    make_rooms(rooms_, n_tasks, shape_.n_vocab);
    share_out(n_tasks, [&](int64_t task) {
      SlotRoom& room = rooms_[static_cast<size_t>(task)];
      const int64_t first = task * kSlotsOfTask, n = std::min(kSlotsOfTask, std::ssize(slots) - first);
      for (Slot& slot : slots.subspan(static_cast<size_t>(first), static_cast<size_t>(n))) what(slot, room);
    });
  }

  float find_log_probs(const Slot& slot, std::span<const float> cond, std::span<const float> uncond,
                       SlotRoom& room) const;
  int32_t choose_token(float best, uint64_t noise_call, SlotRoom& room) const;
  MaskGitMove next_move();

  MaskGitOptions options_;
  CodeGridShape shape_;
  uint64_t* noise_calls_;
  GuidedLogProbs* guided_log_probs_;
  std::vector<int64_t> slots_per_step_;
  size_t step_ = 0;
  int n_steps_done_ = 0, n_steps_total_ = 0;
  std::vector<int32_t> tokens_;
  std::vector<Slot> undecided_;  // in the step that is taken
  std::vector<SlotRoom> rooms_;  // of its tasks
};

}  // namespace parlance
