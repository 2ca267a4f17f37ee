// Runs an audio encoder on frames in host memory: chunks one by one, then windows of chunks.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "asr/mode.h"
#include "asr/turn_queue.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "engine/work.h"
#include "models/audio_encoder.h"

namespace parlance {

class SpeechEncoder {
 public:
  // Allocates what the largest chunk and window take. Errors: memory, kernels that the device lacks, an
  // encoder whose mel bands or positions do not fit.
  static Result<std::unique_ptr<SpeechEncoder>> create(const AudioEncoder& encoder, Device& device,
                                                       const AsrMode& mode);

  const AudioEncoderParameters& parameters() const { return encoder_.parameters(); }
  int64_t n_embd() const { return encoder_.parameters().n_embd; }
  int64_t n_out() const { return encoder_.parameters().n_out; }
  int64_t window_tokens() const { return mode_.window_chunks * AudioEncoder::n_tokens(mode_.chunk_frames); }

  // Of inputs and activations.
  size_t memory_bytes() const { return inputs_->size() + stream_->reserved_bytes(); }

  // From any threads: one computes at a time, those whose work is more urgent first.

  // One chunk: `frames` normalised [kMelBands, n], n <= chunk_frames, continued with zeros up to n_padded.
  // Appends the tokens [n_embd] that count to `tokens`, without the first n_known of them: the others are
  // computed from the frames that they see, if that gives the same bits. Errors: cancelled, with nothing
  // appended.
  Result<void> embed_chunk(std::span<const float> frames, int64_t n_padded, std::vector<float>& tokens,
                           const Work& work = {}, int64_t n_known = 0);
  // Whether it is of use to know the first tokens of a chunk.
  bool embeds_in_parts() const { return are_alike(mode_.chunk_frames, mode_.chunk_frames / 2); }
  // See AudioEncoder.
  bool are_alike(int64_t n_frames, int64_t n_other_frames) const {
    return encoder_.are_alike(*stream_, n_frames, n_other_frames);
  }

  // One window: tokens [n_embd, n] -> rows [n_out, n], appended. Errors: as above, and rows that are no
  // finite numbers.
  Result<void> encode_window(std::span<const float> tokens, std::vector<float>& rows, const Work& work = {});

 private:
  SpeechEncoder(const AudioEncoder& encoder, const AsrMode& mode) : encoder_(encoder), mode_(mode) {}
  Result<void> allocate(Device& device);
  Tensor input(DType dtype, size_t offset, int64_t n0, int64_t n1, int64_t n2 = 1) const;
  // Runs a network for n columns; where the device records, once for each number of them.
  enum class Network : uint64_t { chunk, window };
  Result<Tensor> run(Network network, int64_t n, FunctionRef<Tensor()> graph);

  const AudioEncoder& encoder_;
  AsrMode mode_;
  TurnQueue turns_;                 // to what follows
  std::unique_ptr<Buffer> inputs_;  // mel or tokens, then positions or bounds
  size_t indices_at_ = 0;
  std::unique_ptr<Stream> stream_;      // ends before the memory that its last operations use
  std::map<uint64_t, Tensor> results_;  // of recorded steps
  std::vector<float> mel_;              // of a chunk: time is the fastest
};

}  // namespace parlance
