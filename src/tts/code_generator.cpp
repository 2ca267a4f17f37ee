#include "tts/code_generator.h"

#include "tts/speech_plan.h"

namespace parlance {

Result<CodeGenerator::Output> CodeGenerator::generate(const CodeRequest& request, uint64_t& noise_calls,
                                                      const OnStep& on_step, Cancellation cancellation,
                                                      const OnBlock& on_block) {
  PARLANCE_CHECK(check_options(request.decoding));
  if (request.n_frames < 1 || request.n_frames > kMostChunkFrames) {
    return fail(
        ErrorCode::invalid_argument,
        "{} seconds of speech in one piece are more than {}; let the text be divided into chunks, or ask "
        "for less",
        request.n_frames / kFramesPerSecond, kMostChunkFrames / kFramesPerSecond);
  }
  if (cancellation.cancelled()) return fail(ErrorCode::cancelled, "speech was cancelled");
  const TtsPrompt prompt = make_tts_prompt(
      tokenizer_, {.text = request.text,
                   .language = request.language,
                   .voice = request.voice,
                   .reference_text = request.reference_text,
                   .n_reference = request.reference ? static_cast<int32_t>(request.reference->n_frames()) : 0,
                   .n_target = request.n_frames,
                   .denoise = request.denoise});
  Result<Output> output =
      request.shortcuts ? generate_in_blocks(request, prompt, noise_calls, on_step, cancellation, on_block)
                        : generate_exactly(request, prompt, noise_calls, on_step, cancellation);
  // The decoder does not know whose logits it has.
  if (!output && output.error().code == ErrorCode::corrupt_file) {
    output.error().message = fmt::format("{}: {}", lm_.file_name(), output.error().message);
  }
  return output;
}

Result<CodeGenerator::Output> CodeGenerator::generate_exactly(const CodeRequest& request,
                                                              const TtsPrompt& prompt, uint64_t& noise_calls,
                                                              const OnStep& on_step,
                                                              const Cancellation& cancellation) {
  const OmniVoiceParameters& hp = lm_.parameters();
  const AudioCodes none;
  const AudioCodes& reference = request.reference ? *request.reference : none;
  const bool is_guided = request.decoding.guidance != 0;
  PARLANCE_CHECK(lm_.prepare({.text = prompt.text_ids,
                              .reference = reference.codes,
                              .n_target = request.n_frames,
                              .is_guided = is_guided,
                              .mask = request.mask}));

  MaskGit decoder(request.decoding,
                  {.n_codebook = hp.n_codebook,
                   .n_frames = request.n_frames,
                   .n_vocab = hp.n_audio_vocab,
                   .mask_id = hp.mask},
                  noise_calls);
  const auto n_logits = static_cast<size_t>(request.n_frames * hp.n_codebook * hp.n_audio_vocab);
  while (decoder.next()) {
    if (lm_.decides()) {
      PARLANCE_CHECK(lm_.advance(decoder.hand_over(), cancellation));
    } else {
      PARLANCE_TRY(const std::span<const float> logits, lm_.step(decoder.tokens(), cancellation));
      PARLANCE_CHECK(decoder.take(logits.first(n_logits), logits.subspan(n_logits),
                                  [&](int64_t n, FunctionRef<void(int64_t)> task) { lm_.on_host(n, task); }));
    }
    if (on_step) on_step(decoder.n_steps_done(), decoder.n_steps_total());
  }
  std::vector<int32_t> codes(decoder.tokens().begin(), decoder.tokens().end());
  if (lm_.decides()) {
    PARLANCE_TRY(codes, lm_.codes());
  }
  const auto n_row = static_cast<int64_t>(prompt.n_columns());
  const int64_t n_second = !is_guided ? 0 : request.mask == GuidanceMask::hard ? request.n_frames : n_row;
  return Output{.codes = {.n_codebook = hp.n_codebook, .codes = std::move(codes)},
                .n_steps = decoder.n_steps_done(),
                .n_columns = decoder.n_steps_done() * (n_row + n_second)};
}

}  // namespace parlance
