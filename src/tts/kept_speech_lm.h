// Runs OmniVoice's language model for one text with less work than SpeechLm: each pass computes some columns,
// and sees the keys and values of the others as passes before have left them. The model was not made for
// that, since what is kept was computed beside other codes than now: how much may be kept, and for how long,
// is the caller's to choose.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
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
  // takes: those whose logits are asked for. Errors: memory, missing kernels, cancelled.
  Result<void> run(const KeptPass& pass, std::span<const int32_t> codes, std::span<const CodeSlot> slots,
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

  size_t vocab() const { return static_cast<size_t>(parameters().n_audio_vocab); }
  int64_t n_row() const { return std::ssize(text_) + n_reference_ + n_target_; }
  Result<void> make_room();
  Columns columns_of(const KeptPass& pass, std::span<const int32_t> codes,
                     std::span<const CodeSlot> slots) const;
  Result<OmniVoiceColumns> place(const Columns& columns);
  Result<void> fetch(const std::vector<Tensor>& logits, const Columns& columns);

  const OmniVoiceLm& model_;
  Device& device_;
  const KvFormat kept_;
  std::unique_ptr<KvCache> cache_;  // of room_ positions in each row
  int64_t room_ = 0;
  std::unique_ptr<Buffer> inputs_;

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
