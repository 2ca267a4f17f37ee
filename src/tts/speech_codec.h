// OmniVoice's codec on a device: codes of frames to sound and back.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "models/omnivoice_codec.h"
#include "tts/audio/speech_format.h"

namespace parlance {

class SpeechCodec {
 public:
  SpeechCodec(const OmniVoiceCodec& model, Device& device)
      : model_(model), device_(device), stream_(device.make_stream()) {}

  int64_t n_codebook() const { return model_.parameters().n_codebook; }
  int64_t n_codes() const { return model_.parameters().n_codes; }          // of one codebook
  int64_t samples_per_frame() const { return model_.parameters().hop(); }  // 960: 40 ms

  // Sound of the frames [first, last) of codes [n_codebook][n_frames], appended to `pcm`: samples_per_frame()
  // each, those of decoding all frames at once, since a sample depends on few frames to either side. Memory
  // goes by last - first. Errors: codes out of range, memory, missing kernels, sound that is no finite
  // numbers, cancelled (nothing is appended).
  Result<void> decode(std::span<const int32_t> codes, int64_t n_frames, int64_t first, int64_t last,
                      std::vector<float>& pcm, Cancellation cancellation = {});

  // Codes [n_codebook][n_frames] of sound at kSpeechRateHz, as it is: see reference preparation for what a
  // voice needs. Errors: too short (about 100 samples), not finite, too long (memory),
  // what is computed of it not finite, cancelled.
  Result<std::vector<int32_t>> encode(std::span<const float> pcm, Cancellation cancellation = {});

 private:
  // Which network, and the sizes that its operations depend on.
  using GraphShape = std::array<int64_t, 4>;
  // What is planned once and then recorded, where a device records.
  struct Graph {
    uint64_t key;
    Tensor result;
  };

  Result<Tensor> upload(size_t place, DType dtype, int64_t n0, int64_t n1, std::span<const std::byte> bytes);
  Result<Graph*> plan(const GraphShape& shape, FunctionRef<Tensor()> graph);
  Result<std::vector<float>> run(const GraphShape& shape, FunctionRef<Tensor()> graph,
                                 const Cancellation& cancellation);
  Result<std::vector<float>> semantic_features(std::span<const float> pcm, int64_t& n_frames,
                                               const Cancellation& cancellation);
  Result<std::vector<float>> acoustic_features(std::span<const float> pcm, int64_t n_frames,
                                               const Cancellation& cancellation);

  const OmniVoiceCodec& model_;
  Device& device_;
  std::array<std::unique_ptr<Buffer>, 2> inputs_;
  std::map<GraphShape, Graph> graphs_;  // on the memory that there is now
  uint64_t n_graphs_ = 0;               // that there have been
  Plan room_;                           // reserved
  std::unique_ptr<Stream> stream_;      // ends before the memory that its last operations use
};

}  // namespace parlance
