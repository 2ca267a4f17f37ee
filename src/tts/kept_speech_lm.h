// Runs OmniVoice's language model for one text with less work than SpeechLm: each pass computes some columns,
// and sees the keys and values of the others as passes before have left them. The model was not made for
// that, since what is kept was computed beside other codes than now: how much may be kept, and for how long,
// is the caller's to choose.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "kernels/block_step.h"
#include "kv/cache.h"
#include "models/omnivoice_lm.h"
#include "tts/code_slot.h"

namespace parlance {

struct KeptPrompt {
  std::span<const int32_t> text;       // tokens
  std::span<const int32_t> reference;  // codes [n_codebook][n_reference], or none
  int64_t n_target = 0;                // frames to be filled in
  bool is_guided = true;
};

// What a pass computes anew.
struct KeptPass {
  bool takes_prompt = false;        // text and reference
  int64_t first = 0, end = 0;       // frames of the target, in the conditional row,
  bool takes_unconditional = true;  // and in the other one
  // Frames of the conditional row from first_far on are computed once for so many of them, which keep the
  // same keys and values but for their places.
  int64_t first_far = INT64_MAX, far_frames = 1;
};

// A block of frames that the device decides codes of.
struct KeptBlock {
  int64_t first = 0, end = 0;
  // Whether passes without the unconditional row are decided by what the last one with it said of it.
  bool keeps_guidance = false;
};

class KeptSpeechLm {
 public:
  // `kept` is the format of keys and values.
  KeptSpeechLm(const OmniVoiceLm& model, Device& device, KvFormat kept = KvFormat::f16)
      : model_(model), device_(device), kept_(kept), stream_(device.make_stream()) {}

  // Errors: no target, codes or tokens out of range, memory, kernels that the device lacks.
  Result<void> prepare(const KeptPrompt& prompt);

  // One pass for codes [n_codebook][n_target], where undecided ones are the mask. The first one of a prompt
  // has to take all columns. `slots`, sorted by codebook and frame, one at least, lie in the frames that it
  // takes, before those that are far: those whose logits are asked for. Errors: memory, missing kernels,
  // cancelled.
  //
  // Where all is mask, columns of the unconditional row differ in nothing but their places: of equal values
  // any weights of attention make the same, so that one column is computed for all of them
  // (has_one_unconditional()).
  Result<void> run(const KeptPass& pass, std::span<const int32_t> codes, std::span<const CodeSlot> slots,
                   const Cancellation& cancellation = {});

  // Not where kernels take all columns of a pass in less time than the launches that write one's keys and
  // values for others.
  bool has_one_unconditional() const;

  // Whether the device decides codes by itself: then decide() is called pass by pass, else run().
  bool decides() const { return decides_blocks(device_); }
  // A pass as run() takes it, and the step of decoding that is due: yields the codes of the block,
  // [n_codebook][end - first], which lies in the frames that the pass takes. Errors: those of run(), and
  // logits that are no finite numbers.
  Result<std::span<const int32_t>> decide(const KeptPass& pass, std::span<const int32_t> codes,
                                          const KeptBlock& block, const BlockMove& move,
                                          const Cancellation& cancellation = {});

  // Of slot i of the last pass: n_audio_vocab logits of either row. The unconditional ones are null where
  // that row was not taken.
  const float* conditional(size_t i) const { return logits_.data() + slots_at_[i].conditional * vocab(); }
  const float* unconditional(size_t i) const {
    return has_unconditional_ ? logits_.data() + slots_at_[i].unconditional * vocab() : nullptr;
  }

  // Of what is done with them, see Stream::on_host().
  void on_host(int64_t n_tasks, FunctionRef<void(int64_t task)> task) { stream_->on_host(n_tasks, task); }

  const OmniVoiceParameters& parameters() const { return model_.parameters(); }
  int64_t n_columns() const { return n_columns_; }  // that were computed since the prompt

 private:
  struct Columns;  // of a pass, as numbers

  // What passes that the device decides by differ in, beside numbers in its memory: one recording serves all
  // that do not.
  struct PassShape {
    int64_t n_text, n_audio, n_shared, n_asked, n_block;  // n_audio: columns that have codes
    int64_t least_of_row, most_of_row;
    bool is_guided, takes_unconditional, keeps_guidance, has_marginals, may_end;

    auto operator<=>(const PassShape&) const = default;
  };
  struct PassState {
    uint64_t key = 0;
    int n_runs = 0;
  };
  struct InputPlaces;  // of these numbers in device memory

  bool are_masks(std::span<const int32_t> codes) const;
  size_t vocab() const { return static_cast<size_t>(parameters().n_audio_vocab); }
  int64_t n_row() const { return std::ssize(text_) + n_reference_ + n_target_; }
  Result<void> make_room();
  Result<void> make_device_room(int64_t room);
  Columns columns_of(const KeptPass& pass, std::span<const int32_t> codes) const;
  Columns columns_of(const KeptPass& pass, std::span<const int32_t> codes,
                     std::span<const CodeSlot> slots) const;
  int64_t least_columns() const;
  int64_t most_unseen() const;
  void pad(Columns& columns) const;
  Tensor input_at(size_t offset, int64_t n0, int64_t n1 = 1) const;
  void write_inputs(const Columns& columns, std::span<const int32_t> codes, const KeptBlock& block,
                    const BlockMove& move, const InputPlaces& places);
  OmniVoiceColumns placed_inputs(const PassShape& shape, const InputPlaces& places) const;
  void compute(const PassShape& shape, const InputPlaces& places, const KvLayers& kv);
  Result<PassState*> state_of(const PassShape& shape, FunctionRef<void()> compute);
  Result<OmniVoiceColumns> place(const Columns& columns);
  Result<void> fetch(const std::vector<Tensor>& logits, const Columns& columns);

  const OmniVoiceLm& model_;
  Device& device_;
  const KvFormat kept_;
  std::unique_ptr<KvCache> cache_;  // of room_ positions in each row
  int64_t room_ = 0;
  std::unique_ptr<Buffer> inputs_;

  // Where the device decides.
  std::unique_ptr<Buffer> device_inputs_, guidance_;  // guidance_: logits of a block's unconditional row
  std::vector<int32_t> numbers_;                      // the inputs, on their way; then what is decided
  std::map<PassShape, PassState> passes_;
  uint64_t n_shapes_ = 0;  // that there ever were: keys of recordings
  Plan reserved_;

  std::vector<int32_t> text_, reference_;
  int64_t n_reference_ = 0, n_target_ = 0;
  bool is_guided_ = true;

  // Rows of logits: of each codebook the conditional ones, then the others.
  struct SlotRows {
    size_t conditional, unconditional;
  };
  std::vector<float> logits_;
  std::vector<SlotRows> slots_at_;
  bool has_unconditional_ = false;
  int64_t n_columns_ = 0;
  std::unique_ptr<Stream> stream_;  // ends before the memory that its last operations use
};

}  // namespace parlance
