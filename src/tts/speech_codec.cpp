#include "tts/speech_codec.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/parameter.h"
#include "sampling/logits.h"
#include "tts/audio/sinc_resampler.h"

namespace parlance {

namespace {

constexpr double kMostSeconds = 60;    // of sound that is encoded: the semantic branch takes it as a whole
constexpr int64_t kSemanticPad = 160;  // samples of silence before and behind what HuBERT hears
constexpr int64_t kAcousticPad = 480;  // the same for the acoustic branch, where its frames are one short
constexpr int64_t kEncodeWindow = 50;  // frames that the acoustic branch encodes at once
constexpr size_t kMostGraphs = 64;     // that are remembered
constexpr int64_t kEncodeMargin = 25;  // frames beyond which no sample reaches a frame

// The networks of graphs.
enum : int64_t { kDecoder, kHubert, kAcoustic, kJoin };

}  // namespace

// An input of a graph: at the same address for the next one, while that is no larger.
Result<Tensor> SpeechCodec::upload(size_t place, DType dtype, int64_t n0, int64_t n1,
                                   std::span<const std::byte> bytes) {
  std::unique_ptr<Buffer>& buffer = inputs_[place];
  if (!buffer || buffer->size() < bytes.size()) {
    PARLANCE_CHECK(stream_->synchronize());  // nobody reads the one before any more
    graphs_.clear();
    PARLANCE_TRY(buffer, device_.allocate(bytes.size()));
  }
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.ne = {n0, n1, 1, 1};
  tensor.buffer = buffer.get();
  tensor.data = buffer->base();
  stream_->upload(tensor, bytes);
  return tensor;
}

// With memory for it.
Result<SpeechCodec::Graph*> SpeechCodec::plan(const GraphShape& shape, FunctionRef<Tensor()> graph) {
  if (const auto known = graphs_.find(shape); known != graphs_.end()) return &known->second;
  const Plan plan = stream_->dry_run([&] { graph(); });
  if (!plan.missing.empty()) {
    return fail(ErrorCode::unsupported, "device {} has no kernel for {}; use {} for speech", device_.name(),
                plan.missing.front(), set_to(Parameter::device, "cpu"));
  }
  const bool has_room =
      plan.workspace_bytes <= room_.workspace_bytes && plan.scratch_bytes <= room_.scratch_bytes;
  if (!has_room || n_graphs_ == 0) {
    room_.workspace_bytes = std::max(room_.workspace_bytes, plan.workspace_bytes);
    room_.scratch_bytes = std::max(room_.scratch_bytes, plan.scratch_bytes);
    graphs_.clear();
    PARLANCE_CHECK(stream_->reserve(room_));
  }
  if (graphs_.size() == kMostGraphs) graphs_.clear();
  return &graphs_.emplace(shape, Graph{.key = ++n_graphs_, .result = {}}).first->second;
}

// Runs a graph and brings its result to host memory.
Result<std::vector<float>> SpeechCodec::run(const GraphShape& shape, FunctionRef<Tensor()> graph,
                                            const Cancellation& cancellation) {
  PARLANCE_TRY(Graph* const planned, plan(shape, graph));
  const CancellableWork work(*stream_, cancellation);
  stream_->step(planned->key, [&] { planned->result = graph(); });
  if (stream_->cancelled()) return fail(ErrorCode::cancelled, "cancelled");
  std::vector<float> result(static_cast<size_t>(planned->result.n_elements()));
  PARLANCE_CHECK(stream_->download(std::as_writable_bytes(std::span(result)), planned->result));
  if (!all_finite(result)) {
    return fail(ErrorCode::corrupt_file,
                "{}: what the codec computed is not a number; the file is damaged, download it again",
                model_.file_name());
  }
  return result;
}

Result<void> SpeechCodec::decode(std::span<const int32_t> codes, int64_t n_frames, int64_t first,
                                 int64_t last, std::vector<float>& pcm, Cancellation cancellation) {
  const auto is_outside = [this](int32_t code) { return code < 0 || code >= n_codes(); };
  if (std::ssize(codes) != n_codebook() * n_frames || first < 0 || first >= last || last > n_frames ||
      std::any_of(codes.begin(), codes.end(), is_outside)) {
    return fail(
        ErrorCode::invalid_argument,
        "{} codes, of which frames {} to {} of {} are to be heard: expected {} rows of codes below {}",
        codes.size(), first, last, n_frames, n_codebook(), n_codes());
  }
  const int64_t margin = model_.margin_frames();
  const int64_t from = std::max<int64_t>(0, first - margin), to = std::min(n_frames, last + margin);
  std::vector<int32_t> window;
  for (int64_t k = 0; k < n_codebook(); ++k) {
    const auto row = codes.begin() + k * n_frames;
    window.insert(window.end(), row + from, row + to);
  }
  PARLANCE_TRY(const Tensor input,
               upload(0, DType::i32, to - from, n_codebook(), std::as_bytes(std::span(window))));
  PARLANCE_TRY(const std::vector<float> sound,
               run(
                   {kDecoder, to - from, first - from, last - from},
                   [&] { return model_.decode(*stream_, input, first - from, last - from); }, cancellation));
  pcm.insert(pcm.end(), sound.begin(), sound.end());
  return {};
}

// HuBERT's features of every frame: the mean of its layers' states at every second place.
Result<std::vector<float>> SpeechCodec::semantic_features(std::span<const float> pcm, int64_t& n_frames,
                                                          const Cancellation& cancellation) {
  const OmniVoiceCodecParameters& hp = model_.parameters();
  const std::vector<float> resampled =
      sinc_resample(pcm, static_cast<int>(hp.sample_rate_hz), static_cast<int>(hp.semantic_rate_hz));
  std::vector<float> padded(resampled.size() + 2 * kSemanticPad, 0.0f);
  std::copy(resampled.begin(), resampled.end(), padded.begin() + kSemanticPad);
  const int64_t n_places = model_.semantic_places(std::ssize(padded));
  n_frames = n_places / 2;
  if (n_frames == 0) return std::vector<float>{};
  const int32_t bounds[2] = {0, static_cast<int32_t>(n_places)};
  PARLANCE_TRY(const Tensor sound,
               upload(0, DType::f32, 1, std::ssize(padded), std::as_bytes(std::span(padded))));
  PARLANCE_TRY(const Tensor whole, upload(1, DType::i32, 2, 1, std::as_bytes(std::span(bounds))));
  PARLANCE_TRY(const std::vector<float> sum,
               run(
                   {kHubert, std::ssize(padded)}, [&] { return model_.hubert(*stream_, sound, whole); },
                   cancellation));
  std::vector<float> features(static_cast<size_t>(n_frames * hp.n_embd));
  for (int64_t t = 0; t < n_frames; ++t) {
    for (int64_t i = 0; i < hp.n_embd; ++i) {
      features[static_cast<size_t>(t * hp.n_embd + i)] =
          sum[static_cast<size_t>(2 * t * hp.n_embd + i)] / static_cast<float>(hp.n_layer + 1);
    }
  }
  return features;
}

// [n_hidden, n_frames], in windows whose margins are cut away.
Result<std::vector<float>> SpeechCodec::acoustic_features(std::span<const float> pcm, int64_t n_frames,
                                                          const Cancellation& cancellation) {
  const int64_t hop = samples_per_frame(), n_hidden = model_.parameters().n_hidden;
  std::vector<float> features;
  for (int64_t first = 0; first < n_frames; first += kEncodeWindow) {
    const int64_t last = std::min(n_frames, first + kEncodeWindow);
    const int64_t from = std::max<int64_t>(0, first - kEncodeMargin);
    const int64_t to = std::min(std::ssize(pcm), (last + kEncodeMargin) * hop);
    const auto part = pcm.subspan(static_cast<size_t>(from * hop), static_cast<size_t>(to - from * hop));
    PARLANCE_TRY(const Tensor sound, upload(0, DType::f32, 1, std::ssize(part), std::as_bytes(part)));
    PARLANCE_TRY(const std::vector<float> window,
                 run(
                     {kAcoustic, std::ssize(part)}, [&] { return model_.encode_acoustic(*stream_, sound); },
                     cancellation));
    const auto begin = window.begin() + (first - from) * n_hidden;
    features.insert(features.end(), begin, begin + (last - first) * n_hidden);
  }
  return features;
}

Result<std::vector<int32_t>> SpeechCodec::encode(std::span<const float> pcm, Cancellation cancellation) {
  const OmniVoiceCodecParameters& hp = model_.parameters();
  const double seconds = static_cast<double>(pcm.size()) / static_cast<double>(hp.sample_rate_hz);
  const auto bad = std::find_if(pcm.begin(), pcm.end(), [](float x) { return !std::isfinite(x); });
  if (bad != pcm.end()) {
    return fail(ErrorCode::invalid_argument, "sample {} of the reference is not a finite number",
                bad - pcm.begin());
  }
  if (seconds > kMostSeconds) {
    return fail(ErrorCode::invalid_argument,
                "the reference has {:.0f} seconds; give at most {}, 3 to 10 are best", seconds, kMostSeconds);
  }
  int64_t n_frames = 0;
  PARLANCE_TRY(const std::vector<float> features, semantic_features(pcm, n_frames, cancellation));
  if (n_frames == 0) {
    return fail(ErrorCode::invalid_argument,
                "the reference has {} samples, less than a frame; give 3 to 10 seconds", pcm.size());
  }
  std::vector<float> sound(pcm.begin(), pcm.end());
  if (model_.acoustic_frames(std::ssize(sound)) != n_frames) {
    sound.insert(sound.begin(), kAcousticPad, 0.0f);
    sound.insert(sound.end(), kAcousticPad, 0.0f);
  }
  const int64_t n_acoustic = model_.acoustic_frames(std::ssize(sound));
  if (n_acoustic != n_frames) {
    return fail(ErrorCode::invalid_argument,
                "{} samples make {} acoustic and {} semantic frames; cut them to a multiple of {}",
                pcm.size(), n_acoustic, n_frames, samples_per_frame());
  }
  PARLANCE_TRY(const std::vector<float> acoustic, acoustic_features(sound, n_frames, cancellation));
  PARLANCE_TRY(const Tensor a,
               upload(0, DType::f32, hp.n_hidden, n_frames, std::as_bytes(std::span(acoustic))));
  PARLANCE_TRY(const Tensor f,
               upload(1, DType::f32, hp.n_embd, n_frames, std::as_bytes(std::span(features))));
  PARLANCE_TRY(const std::vector<float> latent,
               run(
                   {kJoin, n_frames}, [&] { return model_.join(*stream_, a, f); }, cancellation));
  return model_.quantise(latent);
}

}  // namespace parlance
