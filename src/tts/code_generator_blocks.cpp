// Codes of a piece of text with shortcuts: blocks from left to right, and passes over the columns that may
// have changed.
#include <algorithm>

#include "tts/block_maskgit.h"
#include "tts/code_generator.h"

namespace parlance {

namespace {

// Which columns the next pass takes anew.
class PassPlan {
 public:
  PassPlan(const SpeechShortcuts& shortcuts, size_t n_slots, int64_t n_frames)
      : shortcuts_(shortcuts), n_slots_(n_slots), n_frames_(n_frames) {}

  void begin_block(int64_t first, int64_t end) {
    before_ = first_;
    first_ = first;
    end_ = end;
    is_begun_ = false;
  }

  // `n_decided` of all codes are. The first pass of all takes everything, what is far but roughly. The first
  // one of a block takes the block before it once more, whose last codes no pass has seen.
  KeptPass next(size_t n_decided) {
    KeptPass pass{.takes_prompt = false, .first = first_, .end = end_, .takes_unconditional = true};
    const auto share = [&](size_t since, double of) { return static_cast<double>(n_decided - since) / of; };
    const auto n_all = static_cast<double>(n_slots_);
    if (!is_begun_) pass.first = before_;
    if (n_passes_ == 0) {
      pass.end = n_frames_;
      pass.takes_prompt = true;
      pass.first_far = end_ + (end_ - first_);
      pass.far_frames = shortcuts_.far_frames;
    } else if (++n_kept_ >= shortcuts_.kept_steps ||
               share(decided_at_prompt_, n_all) > static_cast<double>(shortcuts_.kept_share)) {
      pass.takes_prompt = true;
      pass.first = 0;
    }
    const double n_block = n_all * static_cast<double>(end_ - first_) / static_cast<double>(n_frames_);
    pass.takes_unconditional =
        !is_begun_ || shortcuts_.guidance_share == 0 ||
        share(decided_at_guidance_, n_block) > static_cast<double>(shortcuts_.guidance_share);
    if (pass.takes_prompt) {
      n_kept_ = 0;
      decided_at_prompt_ = n_decided;
    }
    if (pass.takes_unconditional) decided_at_guidance_ = n_decided;
    is_begun_ = true;
    ++n_passes_;
    return pass;
  }

 private:
  const SpeechShortcuts shortcuts_;
  const size_t n_slots_;  // of all frames
  const int64_t n_frames_;
  int64_t before_ = 0, first_ = 0, end_ = 0;  // of the block, and where the one before begins
  bool is_begun_ = false;
  int n_passes_ = 0, n_kept_ = 0;
  size_t decided_at_prompt_ = 0, decided_at_guidance_ = 0;
};

// The last unconditional logits of a block's slots.
class KeptGuidance {
 public:
  KeptGuidance(int64_t n_codebook, int64_t n_vocab)
      : n_codebook_(n_codebook), n_vocab_(static_cast<size_t>(n_vocab)) {}

  void begin_block(int64_t first, int64_t end) {
    first_ = first;
    n_frames_ = end - first;
    logits_.resize(static_cast<size_t>(n_codebook_ * n_frames_) * n_vocab_);
  }
  void keep(const CodeSlot& slot, const float* logits) { std::copy_n(logits, n_vocab_, place(slot)); }
  float* place(const CodeSlot& slot) {
    return logits_.data() + static_cast<size_t>(slot.codebook * n_frames_ + slot.frame - first_) * n_vocab_;
  }

 private:
  const int64_t n_codebook_;
  const size_t n_vocab_;
  int64_t first_ = 0, n_frames_ = 0;
  std::vector<float> logits_;  // (n_codebook, n_frames, n_vocab)
};

}  // namespace

Result<CodeGenerator::Output> CodeGenerator::generate_in_blocks(const CodeRequest& request,
                                                                const TtsPrompt& prompt,
                                                                uint64_t& noise_calls, const OnStep& on_step,
                                                                const Cancellation& cancellation,
                                                                const OnBlock& on_block) {
  const SpeechShortcuts& shortcuts = *request.shortcuts;
  PARLANCE_CHECK(check_shortcuts(shortcuts));
  const OmniVoiceParameters& hp = lm_.parameters();
  const AudioCodes none;
  const AudioCodes& reference = request.reference ? *request.reference : none;
  const bool is_guided = request.decoding.guidance != 0;
  PARLANCE_CHECK(kept_lm_.prepare({.text = prompt.text_ids,
                                   .reference = reference.codes,
                                   .n_target = request.n_frames,
                                   .is_guided = is_guided}));

  const std::vector<int64_t> ends = block_ends(shortcuts, request.n_frames);
  const auto steps_of_block = [&](size_t block) {
    const bool is_first = block == 0 && ends.size() > 1 && shortcuts.first_steps > 0;
    return is_first ? shortcuts.first_steps : request.decoding.n_step;
  };
  int n_planned = 0;
  for (size_t block = 0; block < ends.size(); ++block) n_planned += steps_of_block(block);

  BlockMaskGit decoder(
      {.decoding = request.decoding, .marginal = shortcuts.marginal, .confidence = shortcuts.confidence},
      {.n_codebook = hp.n_codebook,
       .n_frames = request.n_frames,
       .n_vocab = hp.n_audio_vocab,
       .mask_id = hp.mask},
      noise_calls);
  PassPlan plan(shortcuts, decoder.tokens().size(), request.n_frames);
  KeptGuidance guidance(hp.n_codebook, hp.n_audio_vocab);
  const bool keeps_guidance = is_guided && shortcuts.guidance_share > 0;
  int64_t first = 0;
  for (size_t block = 0; block < ends.size(); ++block) {
    const int64_t end = ends[block];
    decoder.begin(first, end, steps_of_block(block));
    plan.begin_block(first, end);
    if (keeps_guidance && !kept_lm_.decides()) guidance.begin_block(first, end);
    const int n_before = decoder.n_steps_done();
    while (decoder.next()) {
      const KeptPass pass = plan.next(decoder.n_decided());
      if (kept_lm_.decides()) {
        PARLANCE_TRY(const std::span<const int32_t> codes,
                     kept_lm_.decide(pass, decoder.tokens(),
                                     {.first = first, .end = end, .keeps_guidance = keeps_guidance},
                                     decoder.hand_over(), cancellation));
        decoder.accept(codes);
        if (on_step) on_step(decoder.n_steps_done(), n_planned);
        continue;
      }
      const auto slots = decoder.undecided();
      PARLANCE_CHECK(kept_lm_.run(pass, decoder.tokens(), slots, cancellation));
      for (size_t i = 0; keeps_guidance && pass.takes_unconditional && i < slots.size(); ++i)
        guidance.keep(slots[i], kept_lm_.unconditional(i));
      const auto logits_of = [&](size_t i) {
        return BlockMaskGit::SlotLogits{
            kept_lm_.conditional(i), keeps_guidance ? guidance.place(slots[i]) : kept_lm_.unconditional(i)};
      };
      PARLANCE_CHECK(decoder.take(
          logits_of, [&](int64_t n, FunctionRef<void(int64_t)> task) { kept_lm_.on_host(n, task); }));
      if (on_step) on_step(decoder.n_steps_done(), n_planned);
    }
    // What the block did not take is taken from what was planned.
    n_planned -= steps_of_block(block) - (decoder.n_steps_done() - n_before);
    first = end;
    if (on_block && block + 1 < ends.size()) PARLANCE_CHECK(on_block(decoder.tokens(), end));
  }
  const auto tokens = decoder.tokens();
  return Output{.codes = {.n_codebook = hp.n_codebook, .codes = {tokens.begin(), tokens.end()}},
                .n_steps = decoder.n_steps_done(),
                .n_columns = kept_lm_.n_columns()};
}

}  // namespace parlance
