// Runs OmniVoice's language model for one text: the prompt stays, the target's codes change from step to
// step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "models/omnivoice_lm.h"

namespace parlance {

// What the unconditional row of guidance is. `hard` is the target alone, as the model was trained; `soft`
// continues it with padding that takes part in attention, as omnivoice.cpp computes it: for comparing with
// that.
enum class GuidanceMask : uint8_t { hard, soft };

struct SpeechLmPrompt {
  std::span<const int32_t> text;       // tokens
  std::span<const int32_t> reference;  // codes [n_codebook][n_reference], or none
  int64_t n_target = 0;                // frames to be filled in
  bool is_guided = true;
  GuidanceMask mask = GuidanceMask::hard;
};

// Refuses a prompt without text or target, with tokens or codes that the model does not have, or that is too
// long.
Result<void> check_speech_prompt(const OmniVoiceParameters& hp, const SpeechLmPrompt& prompt);

class SpeechLm {
 public:
  SpeechLm(const OmniVoiceLm& model, Device& device)
      : model_(model),
        device_(device),
        decides_(device.ops().maskgit_step.run != nullptr),
        stream_(device.make_stream()) {}

  // Allocates what the passes over this prompt take, unless the prompt before was as long. Errors: no target,
  // codes or tokens out of range, memory, kernels that the device lacks.
  Result<void> prepare(const SpeechLmPrompt& prompt);

  // Whether the device decides codes by itself: then advance() is called step by step, else step().
  bool decides() const { return decides_; }

  // One pass for the codes so far, and the decisions that `move` says. Errors: cancelled, logits that are no
  // finite numbers.
  Result<void> advance(const MaskGitMove& move, Cancellation cancellation = {});
  // What has been decided since prepare(), [n_codebook][n_target].
  Result<std::vector<int32_t>> codes();

  // One pass for codes [n_codebook][n_target], where undecided ones are the mask. Yields logits
  // [n_target][n_codebook][n_audio_vocab] of the conditional row, then those of the unconditional one if the
  // prompt is guided; valid until the next call. Errors: cancelled.
  Result<std::span<const float>> step(std::span<const int32_t> codes, Cancellation cancellation = {});

  // Of what is done with them, see Stream::on_host().
  void on_host(int64_t n_tasks, FunctionRef<void(int64_t task)> task) { stream_->on_host(n_tasks, task); }

  const OmniVoiceParameters& parameters() const { return model_.parameters(); }
  const std::string& file_name() const { return model_.file_name(); }  // for messages
  size_t workspace_bytes() const { return workspace_bytes_; }

 private:
  // What recorded steps depend on.
  struct Shape {
    int64_t n_text = 0, n_reference = 0, n_target = 0;
    bool is_guided = false, is_soft = false;
    bool operator==(const Shape&) const = default;
  };

  Result<void> lay_out(const Shape& shape);
  Result<void> plan();
  Tensor pass();
  void upload_prompt(const SpeechLmPrompt& prompt);

  const OmniVoiceLm& model_;
  Device& device_;
  std::unique_ptr<Buffer> inputs_;
  OmniVoiceInput input_;
  Tensor move_;  // i8 [sizeof(MaskGitMove)]
  Shape shape_;
  bool is_ready_ = false;  // memory is there for prompts of shape_
  const bool decides_;
  std::vector<int32_t> audio_;  // as OmniVoiceInput::audio has it; the target's are the masks of the
                                // beginning, or those of step()
  std::vector<float> logits_;
  size_t workspace_bytes_ = 0;
  std::unique_ptr<Stream> stream_;  // ends before the memory that its last operations use
};

}  // namespace parlance
