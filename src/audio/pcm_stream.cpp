#include "audio/pcm_stream.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "audio/limits.h"

namespace parlance {

namespace {

constexpr uint64_t kWithoutEnd = std::numeric_limits<uint64_t>::max();
// Programs that write to a pipe claim sizes from here on, if they do not claim none.
constexpr uint64_t kNoSize = 0x7fff0000;
constexpr uint64_t kMaxSkipped = 16 << 20;  // titles and pictures before the samples

constexpr size_t kChunkHead = 8;
constexpr size_t kFormatBody = 16, kExtensibleFormatBody = 26;  // as far as they are of use
constexpr size_t kSizesBody = 16;

constexpr uint64_t kTagWhole = 1, kTagFloat = 3, kTagExtensible = 0xfffe;

uint64_t number_at(const std::byte* bytes, int n_bytes) {
  uint64_t value = 0;
  for (int i = 0; i < n_bytes; ++i) value |= static_cast<uint64_t>(bytes[i]) << 8 * i;
  return value;
}

int bytes_of(PcmEncoding encoding) {
  switch (encoding) {
    case PcmEncoding::u8:
      return 1;
    case PcmEncoding::s16:
      return 2;
    case PcmEncoding::s24:
      return 3;
    case PcmEncoding::s32:
    case PcmEncoding::f32:
      return 4;
  }
  return 0;
}

float value_at(const std::byte* bytes, PcmEncoding encoding) {
  const auto bits = static_cast<uint32_t>(number_at(bytes, bytes_of(encoding)));
  switch (encoding) {
    case PcmEncoding::u8:
      return static_cast<float>(static_cast<int>(bits) - 128) / 128;
    case PcmEncoding::s16:
      return static_cast<float>(static_cast<int16_t>(bits)) / 32768;
    case PcmEncoding::s24:
      return static_cast<float>(static_cast<int32_t>(bits << 8)) / 2147483648.0f;
    case PcmEncoding::s32:
      return static_cast<float>(static_cast<int32_t>(bits)) / 2147483648.0f;
    case PcmEncoding::f32:
      float value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
  }
  return 0;
}

}  // namespace

PcmStream PcmStream::wav(std::string name) {
  return PcmStream(std::move(name));
}

Result<PcmStream> PcmStream::raw(std::string name, const PcmFormat& format) {
  PARLANCE_CHECK(check_sample_rate(name, format.sample_rate_hz));
  PARLANCE_CHECK(check_channels(name, format.n_channels));
  PcmStream stream(std::move(name));
  stream.format_ = format;
  stream.begin_samples(kWithoutEnd);
  return stream;
}

void PcmStream::expect(State state, size_t n_bytes) {
  state_ = state;
  n_needed_ = n_bytes;
}

void PcmStream::begin_samples(uint64_t n_bytes) {
  sample_bytes_ = static_cast<uint64_t>(format_.n_channels * bytes_of(format_.encoding));
  n_left_ = n_bytes == kWithoutEnd ? n_bytes : n_bytes - n_bytes % sample_bytes_;
  expect(State::samples, sample_bytes_);
}

Result<void> PcmStream::push(std::span<const std::byte> bytes, std::vector<float>& out) {
  while (!bytes.empty() && state_ != State::ended) {
    if (state_ == State::skipped) {
      const size_t n = std::min<uint64_t>(n_left_, bytes.size());
      bytes = bytes.subspan(n);
      n_left_ -= n;
      if (n_left_ == 0) expect(State::chunk_head, kChunkHead);
      continue;
    }
    const size_t n = std::min(n_needed_ - n_pending_, bytes.size());
    std::copy_n(bytes.begin(), n, pending_.begin() + static_cast<ptrdiff_t>(n_pending_));
    bytes = bytes.subspan(n);
    n_pending_ += n;
    if (n_pending_ < n_needed_) continue;
    n_pending_ = 0;
    if (state_ == State::samples) {
      PARLANCE_CHECK(append_sample(out));
    } else {
      PARLANCE_CHECK(next_state());
    }
  }
  return {};
}

// The mean of the channels.
Result<void> PcmStream::append_sample(std::vector<float>& out) {
  const auto n_bytes = static_cast<size_t>(bytes_of(format_.encoding));
  float sum = 0;
  for (size_t at = 0; at < sample_bytes_; at += n_bytes)
    sum += value_at(pending_.data() + at, format_.encoding);
  const float mean = sum / static_cast<float>(format_.n_channels);
  if (!(std::fabs(mean) <= kLoudest)) {
    return fail(ErrorCode::corrupt_file,
                "{} has a sample that is no number, or far too large, at {:.3f} s; check what sends it",
                name_, static_cast<double>(n_samples_) / format_.sample_rate_hz);
  }
  out.push_back(mean);
  ++n_samples_;
  if (n_left_ != kWithoutEnd) n_left_ -= sample_bytes_;
  if (n_left_ == 0) state_ = State::ended;
  return {};
}

// Reads the header that is complete in pending_.
Result<void> PcmStream::next_state() {
  const std::byte* const head = pending_.data();
  const auto letters = [&](size_t at) {
    return std::string_view(reinterpret_cast<const char*>(head) + at, 4);
  };
  switch (state_) {
    case State::file_head:
      if ((letters(0) != "RIFF" && letters(0) != "RF64") || letters(8) != "WAVE") {
        return fail(ErrorCode::unsupported,
                    "{} does not begin as a WAV file does; send WAV, or say that it is raw", name_);
      }
      expect(State::chunk_head, kChunkHead);
      return {};
    case State::chunk_head:
      chunk_bytes_ = number_at(head + 4, 4);
      return read_chunk_head(letters(0));
    case State::format_body:
      return read_format();
    case State::sizes_body:
      long_data_bytes_ = number_at(head + 8, 8);
      return skip_rest_of_chunk(kSizesBody);
    case State::skipped:
    case State::samples:
    case State::ended:
      break;
  }
  return {};
}

Result<void> PcmStream::read_chunk_head(std::string_view chunk) {
  if (chunk == "fmt ") {
    if (chunk_bytes_ < kFormatBody) {
      return fail(ErrorCode::corrupt_file,
                  "{} describes its samples with {} bytes, expected at least {}; send WAV", name_,
                  chunk_bytes_, kFormatBody);
    }
    expect(State::format_body, chunk_bytes_ < kExtensibleFormatBody ? kFormatBody : kExtensibleFormatBody);
    return {};
  }
  if (chunk == "ds64" && chunk_bytes_ >= kSizesBody) {
    expect(State::sizes_body, kSizesBody);
    return {};
  }
  if (chunk != "data") return skip_rest_of_chunk(0);

  if (!has_format_chunk_) {
    return fail(ErrorCode::corrupt_file, "{} has samples before their description; write the file again",
                name_);
  }
  if (chunk_bytes_ == 0xffffffff && long_data_bytes_ > 0) {
    begin_samples(long_data_bytes_);
  } else {
    begin_samples(chunk_bytes_ == 0 || chunk_bytes_ >= kNoSize ? kWithoutEnd : chunk_bytes_);
  }
  if (n_left_ == 0) state_ = State::ended;
  return {};
}

// Chunks of an odd size are followed by one more byte.
Result<void> PcmStream::skip_rest_of_chunk(size_t n_read) {
  n_left_ = chunk_bytes_ + chunk_bytes_ % 2 - n_read;
  n_skipped_ += n_left_;
  if (n_skipped_ > kMaxSkipped) {
    return fail(ErrorCode::unsupported,
                "{} has more than {} MiB before its samples; send it without pictures and titles", name_,
                kMaxSkipped >> 20);
  }
  expect(n_left_ > 0 ? State::skipped : State::chunk_head, kChunkHead);
  return {};
}

Result<void> PcmStream::read_format() {
  const std::byte* const body = pending_.data();
  uint64_t tag = number_at(body, 2);
  const auto n_channels = static_cast<int>(number_at(body + 2, 2));
  const uint64_t rate_hz = number_at(body + 4, 4), sample_bytes = number_at(body + 12, 2),
                 n_bits = number_at(body + 14, 2);
  if (tag == kTagExtensible && n_needed_ == kExtensibleFormatBody) tag = number_at(body + 24, 2);
  PARLANCE_CHECK(check_sample_rate(name_, static_cast<int64_t>(rate_hz)));
  PARLANCE_CHECK(check_channels(name_, n_channels));

  constexpr std::pair<uint64_t, PcmEncoding> kWhole[] = {
      {8, PcmEncoding::u8}, {16, PcmEncoding::s16}, {24, PcmEncoding::s24}, {32, PcmEncoding::s32}};
  format_ = {
      .encoding = PcmEncoding::f32, .sample_rate_hz = static_cast<int>(rate_hz), .n_channels = n_channels};
  bool is_known = tag == kTagFloat && n_bits == 32;
  for (const auto& [bits, encoding] : kWhole) {
    if (tag != kTagWhole || n_bits != bits) continue;
    format_.encoding = encoding;
    is_known = true;
  }
  if (!is_known || sample_bytes != static_cast<uint64_t>(n_channels * bytes_of(format_.encoding))) {
    return fail(
        ErrorCode::unsupported,
        "{} has samples of format {} with {} bits in {} bytes; send 8, 16, 24 or 32-bit PCM or 32-bit float",
        name_, tag, n_bits, sample_bytes);
  }
  has_format_chunk_ = true;
  return skip_rest_of_chunk(n_needed_);
}

Result<void> PcmStream::finish() const {
  if (has_format()) return {};
  return fail(ErrorCode::corrupt_file, "{} ended before its samples began; send a whole WAV header", name_);
}

}  // namespace parlance
