#include "asr/speech_encoder.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/parameter.h"
#include "sampling/logits.h"

namespace parlance {

Result<std::unique_ptr<SpeechEncoder>> SpeechEncoder::create(const AudioEncoder& encoder, Device& device,
                                                             const AsrMode& mode) {
  std::unique_ptr<SpeechEncoder> speech(new SpeechEncoder(encoder, mode));
  PARLANCE_CHECK(speech->allocate(device));
  return speech;
}

Tensor SpeechEncoder::input(DType dtype, size_t offset, int64_t n0, int64_t n1, int64_t n2) const {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.ne = {n0, n1, n2, 1};
  tensor.buffer = inputs_.get();
  tensor.data = inputs_->base() + offset;
  return tensor;
}

Result<void> SpeechEncoder::allocate(Device& device) {
  const AudioEncoderParameters& hp = encoder_.parameters();
  const int64_t chunk_tokens = AudioEncoder::n_tokens(mode_.chunk_frames);
  if (hp.n_mel != kMelBands || hp.n_pos < chunk_tokens) {
    return fail(
        ErrorCode::unsupported,
        "the audio encoder has {} mel bands and {} positions; this program makes {} bands and chunks of {} "
        "tokens",
        hp.n_mel, hp.n_pos, kMelBands, chunk_tokens);
  }
  const int64_t n_floats = std::max(mode_.chunk_frames * kMelBands, window_tokens() * hp.n_embd);
  indices_at_ = align_up(static_cast<size_t>(n_floats) * sizeof(float), Arena::kAlignment);
  const int64_t n_indices = std::max<int64_t>(chunk_tokens, 2);
  PARLANCE_TRY(inputs_, device.allocate(indices_at_ + static_cast<size_t>(n_indices) * sizeof(int32_t)));
  stream_ = device.make_stream();

  const Plan chunk = stream_->dry_run([&] {
    encoder_.embed_chunk(*stream_, input(DType::f32, 0, 1, mode_.chunk_frames, kMelBands),
                         input(DType::i32, indices_at_, chunk_tokens, 1));
  });
  Plan plan = stream_->dry_run([&] {
    encoder_.encode_windows(*stream_, input(DType::f32, 0, hp.n_embd, window_tokens()),
                            input(DType::i32, indices_at_, 2, 1));
  });
  for (const Plan* one : {&chunk, static_cast<const Plan*>(&plan)}) {
    if (one->missing.empty()) continue;
    return fail(ErrorCode::unsupported, "device {} has no kernel for {}; use {} for speech recognition",
                device.name(), one->missing.front(), set_to(Parameter::device, "cpu"));
  }
  plan.workspace_bytes = std::max(plan.workspace_bytes, chunk.workspace_bytes);
  plan.scratch_bytes = std::max(plan.scratch_bytes, chunk.scratch_bytes);
  return stream_->reserve(plan);
}

Result<Tensor> SpeechEncoder::run(Network network, int64_t n, FunctionRef<Tensor()> graph) {
  constexpr uint64_t kNetworks = 2;
  const uint64_t key = 1 + static_cast<uint64_t>(network) + kNetworks * static_cast<uint64_t>(n);
  Tensor& result = results_[key];
  stream_->step(key, [&] { result = graph(); });
  if (stream_->cancelled()) return fail(ErrorCode::cancelled, "cancelled");
  return result;
}

Result<void> SpeechEncoder::embed_chunk(std::span<const float> frames, int64_t n_padded,
                                        std::vector<float>& tokens, const Work& work, int64_t n_known) {
  const int64_t n_frames = std::ssize(frames) / kMelBands;
  const int64_t n_tokens = AudioEncoder::n_tokens(mode_.keeps_padding ? n_padded : n_frames);
  if (n_known == n_tokens) return {};
  const TurnQueue::Turn turn(turns_, work.priority);
  // Tokens that are not known see frames from those of the last known one on, which is wrong itself where
  // the image begins with it, to those of the last that counts.
  int64_t first_token = std::max<int64_t>(n_known - 1, 0);
  int64_t end = std::min(n_padded, n_tokens * AudioEncoder::kFramesPerToken);
  const auto width_from = [&](int64_t token) { return end - token * AudioEncoder::kFramesPerToken; };
  if (!are_alike(n_padded, width_from(first_token))) end = n_padded;
  while (!are_alike(n_padded, width_from(first_token))) --first_token;
  const int64_t first = first_token * AudioEncoder::kFramesPerToken, width = width_from(first_token);
  mel_.assign(static_cast<size_t>(width * kMelBands), 0.0f);
  for (int64_t t = first; t < n_frames; ++t) {
    for (int64_t band = 0; band < kMelBands; ++band)
      mel_[static_cast<size_t>(band * width + t - first)] = frames[static_cast<size_t>(t * kMelBands + band)];
  }
  std::vector<int32_t> positions(static_cast<size_t>(AudioEncoder::n_tokens(width)));
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(first_token));

  const Tensor mel = input(DType::f32, 0, 1, width, kMelBands);
  const Tensor pos = input(DType::i32, indices_at_, std::ssize(positions), 1);
  const CancellableWork cancellable(*stream_, work.cancellation);
  stream_->upload(mel, std::as_bytes(std::span(mel_)));
  stream_->upload(pos, std::as_bytes(std::span(positions)));
  PARLANCE_TRY(const Tensor result,
               run(Network::chunk, width, [&] { return encoder_.embed_chunk(*stream_, mel, pos); }));

  const size_t before = tokens.size();
  tokens.resize(before + static_cast<size_t>((n_tokens - n_known) * n_embd()));
  return stream_->download(std::as_writable_bytes(std::span(tokens).subspan(before)),
                           result.rows(n_known - first_token, n_tokens - n_known));
}

Result<void> SpeechEncoder::encode_window(std::span<const float> tokens, std::vector<float>& rows,
                                          const Work& work) {
  const TurnQueue::Turn turn(turns_, work.priority);
  const int64_t n = std::ssize(tokens) / n_embd();
  const int32_t whole[2] = {0, static_cast<int32_t>(n)};
  const Tensor h = input(DType::f32, 0, n_embd(), n);
  const Tensor bounds = input(DType::i32, indices_at_, 2, 1);
  const CancellableWork cancellable(*stream_, work.cancellation);
  stream_->upload(h, std::as_bytes(tokens));
  stream_->upload(bounds, std::as_bytes(std::span(whole)));
  PARLANCE_TRY(const Tensor result,
               run(Network::window, n, [&] { return encoder_.encode_windows(*stream_, h, bounds); }));

  const size_t before = rows.size();
  rows.resize(before + static_cast<size_t>(n * n_out()));
  const auto added = std::span(rows).subspan(before);
  Result<void> got = stream_->download(std::as_writable_bytes(added), result);
  if (got && !all_finite(added)) {
    got = fail(ErrorCode::corrupt_file,
               "{}: what the audio encoder computed is not a number; the file is damaged, download it again",
               encoder_.file_name());
  }
  if (!got) rows.resize(before);
  return got;
}

}  // namespace parlance
