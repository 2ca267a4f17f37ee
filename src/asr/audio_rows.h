// From samples to what the language model sees of them: mel frames, chunks of tokens, windows of rows. What
// no further sample can change is computed once; what an update computes again are the last tokens of the
// open chunk, and the open window.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "asr/speech_encoder.h"
#include "audio/mel.h"

namespace parlance {

// A preview is cheaper: attention sees short windows until a whole one is complete, and the clip's loudest
// frame may be that of an earlier moment. The exact rows are those of the clip as a whole.
enum class RowsKind { preview, exact };

// How a chunk's frames were normalised, which depends on the clip's loudest one.
struct ChunkLevel {
  float lowest = 0;  // of its raw frames
  float clamp = 0;   // below which frames were raised to it
};

// Consecutive chunks that attention saw together.
struct AudioWindow {
  int64_t first_chunk = 0, n_chunks = 0;
  bool is_closed = false;  // all its frames are there: later samples do not change it
  std::vector<ChunkLevel> levels;
  uint64_t id = 0;          // of these rows: no other rows have it
  std::vector<float> rows;  // [n_out, n_tokens]
};

class AudioRows {
 public:
  AudioRows(SpeechEncoder& encoder, const AsrMode& mode) : encoder_(&encoder), mode_(mode), mel_(mode.mel) {}

  void push(std::span<const float> samples) { mel_.push(samples); }
  int64_t n_samples() const { return mel_.n_samples(); }

  // Brings windows() up to the samples there are. Errors: cancelled; calling again goes on.
  Result<void> refresh(RowsKind kind, const Work& work = {});

  // Computes ahead what refresh() will need of the samples there are, and no further one changes: tokens of
  // chunks. Nothing where the encoder does not take chunks in parts. Errors: as above.
  Result<void> listen(const Work& work = {});
  bool listens() const { return encoder_->embeds_in_parts(); }

  // Told of the frame behind each window that refresh() has encoded.
  void on_window(std::function<void(int64_t n_frames)> listener) { on_window_ = std::move(listener); }

  // The clip's windows in order. Rows are those of the last refresh().
  std::span<const AudioWindow> windows() const { return windows_; }
  int64_t n_tokens(const AudioWindow& window) const {
    return static_cast<int64_t>(window.rows.size()) / encoder_->n_out();
  }

 private:
  // A chunk whose frames are all there.
  struct Chunk {
    std::vector<float> tokens;  // [n_embd, n_tokens]
    ChunkLevel level;
  };
  struct Range {
    int64_t first_chunk, n_chunks;
  };
  // The first tokens of a chunk that may go on, those that none of its further frames changes.
  struct Beginning {
    int64_t chunk = -1;
    int64_t n_padded = 0;  // of the image that they are from
    Chunk known;
  };

  std::vector<Range> ranges(int64_t n_chunks, RowsKind kind) const;
  Result<ChunkLevel> embed(int64_t chunk, const MelClip& clip, std::vector<float>& tokens, const Work& work);
  Result<ChunkLevel> embed(int64_t chunk, int64_t last, int64_t n_padded, const MelClip& clip,
                           std::vector<float>& tokens, const Work& work);
  void keep_beginning(int64_t chunk, int64_t n_padded, std::span<const float> tokens,
                      const ChunkLevel& level);
  Result<void> compute_closed_chunk(int64_t chunk, const MelClip& clip, RowsKind kind, const Work& work);
  Result<AudioWindow> encode(const Range& range, const MelClip& clip, RowsKind kind, const Work& work);
  int64_t chunks_closed() const { return mel_.n_final() / mode_.chunk_frames; }

  SpeechEncoder* encoder_;
  AsrMode mode_;
  MelFrontEnd mel_;
  std::vector<Chunk> chunks_;  // closed ones
  Beginning beginning_;
  std::vector<AudioWindow> windows_;
  std::function<void(int64_t n_frames)> on_window_;
};

}  // namespace parlance
