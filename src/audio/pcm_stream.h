// Sound that arrives in pieces, from a pipe or a connection: raw samples, or WAV of a length that nobody
// knows yet. Any split of the same bytes gives the same samples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audio/limits.h"
#include "base/result.h"

namespace parlance {

enum class PcmEncoding { u8, s16, s24, s32, f32 };  // little-endian

struct PcmFormat {
  PcmEncoding encoding = PcmEncoding::s16;
  int sample_rate_hz = 16000;
  int n_channels = 1;
};

class PcmStream {
 public:
  // Messages call the stream `name`.
  static PcmStream wav(std::string name);
  static Result<PcmStream> raw(std::string name, const PcmFormat& format);

  // Appends to `out` the samples of these bytes, mixed down to one channel; whole-number formats fill [-1,
  // 1). After an error the stream is of no use.
  Result<void> push(std::span<const std::byte> bytes, std::vector<float>& out);
  // Says that no more bytes come: an error when they ended before the samples began.
  Result<void> finish() const;

  // Whether the format is known: from the beginning for raw samples, after the header for WAV.
  bool has_format() const { return state_ == State::samples || state_ == State::ended; }
  const PcmFormat& format() const { return format_; }

 private:
  // What the next bytes are.
  enum class State {
    file_head,    // "RIFF", a size, "WAVE"
    chunk_head,   // a name and a size
    format_body,  // of the chunk "fmt "
    sizes_body,   // of the chunk "ds64", which has sizes of more than 32 bits
    skipped,      // of another chunk, or the rest of one
    samples,
    ended,  // what follows the samples
  };

  explicit PcmStream(std::string name) : name_(std::move(name)) {}
  void expect(State state, size_t n_bytes);
  void begin_samples(uint64_t n_bytes);
  Result<void> append_sample(std::vector<float>& out);
  Result<void> next_state();
  Result<void> read_chunk_head(std::string_view chunk);
  Result<void> read_format();
  Result<void> skip_rest_of_chunk(size_t n_read);

  std::string name_;
  PcmFormat format_;
  State state_ = State::file_head;
  std::array<std::byte, kMaxChannels * 4> pending_;  // of one header, or of one sample of all channels
  size_t n_pending_ = 0, n_needed_ = 12;             // at first the bytes of the file's head
  uint64_t n_left_ = 0;                              // of the chunk that is skipped, or of the samples
  uint64_t n_skipped_ = 0;                           // in all chunks
  uint64_t chunk_bytes_ = 0;                         // of the current chunk
  uint64_t sample_bytes_ = 0;                        // of all channels together
  uint64_t long_data_bytes_ = 0;                     // what "ds64" says
  bool has_format_chunk_ = false;
  int64_t n_samples_ = 0;
};

}  // namespace parlance
