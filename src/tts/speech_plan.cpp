#include "tts/speech_plan.h"

#include <algorithm>
#include <cassert>

#include "text/unicode.h"
#include "tts/text/chunking.h"
#include "tts/text/duration.h"
#include "tts/text/first_clause.h"

namespace parlance {

namespace {

// Bytes of the first n code points, less what follows their last white space if they have any.
size_t bytes_up_to_space(std::string_view text, size_t n) {
  size_t at = 0, after_space = 0;
  for (; n > 0 && at < text.size(); --n) {
    if (is_white_space(next_code_point(text, at))) after_space = at;
  }
  return at == text.size() || after_space == 0 ? at : after_space;
}

// The chunk itself unless it is longer than may be spoken in one piece.
void append_in_pieces(std::string_view chunk, const Pace& pace, std::vector<std::string>& chunks) {
  const int32_t n_frames = frames_at_pace(chunk, pace);
  size_t n_most = count_code_points(chunk);
  if (n_frames > kMostChunkFrames) {
    constexpr double kPieceFrames = kMostChunkFrames / 8.0;  // far below, since some places are denser
    n_most = std::max<size_t>(1, static_cast<size_t>(static_cast<double>(n_most) * kPieceFrames / n_frames));
  }
  while (!chunk.empty()) {
    const size_t n_bytes = bytes_up_to_space(chunk, n_most);
    const std::string_view piece = strip_white_space(chunk.substr(0, n_bytes));
    if (!piece.empty()) chunks.emplace_back(piece);
    chunk.remove_prefix(n_bytes);
  }
}

}  // namespace

int32_t frames_at_pace(std::string_view text, const Pace& pace) {
  assert(pace.speed > 0);
  const int32_t n_frames = n_target_frames(text, pace.reference_text, pace.n_reference);
  if (pace.speed == 1) return n_frames;
  return std::max(1, static_cast<int32_t>(static_cast<float>(n_frames) / pace.speed));
}

int32_t frames_to_say(std::string_view written, std::string_view said, const Pace& pace) {
  const int32_t n_frames = frames_at_pace(written, pace);
  if (said == written) return n_frames;
  return std::max(n_frames,
                  static_cast<int32_t>(kSaidShare * static_cast<float>(frames_at_pace(said, pace))));
}

std::vector<std::string> plan_chunks(std::string_view text, const Chunking& chunking, const Pace& pace) {
  if (chunking.chunk_seconds <= 0) return {std::string(text)};
  std::vector<std::string> chunks;
  std::string_view rest = text;
  if (chunking.cuts_first_clause) {
    if (const size_t n_bytes = first_clause(text)) {
      append_in_pieces(strip_white_space(text.substr(0, n_bytes)), pace, chunks);
      rest = strip_white_space(text.substr(n_bytes));
    }
  }
  const int32_t n_frames = frames_at_pace(rest, pace);
  const auto n_threshold = static_cast<int32_t>(chunking.threshold_seconds * kFramesPerSecond);
  if (n_frames <= n_threshold && n_frames <= kMostChunkFrames) {
    chunks.emplace_back(rest);
    return chunks;
  }
  const size_t length =
      chunk_length(chunking.chunk_seconds, kFramesPerSecond, n_frames, count_code_points(rest));
  for (const std::string& chunk : split_chunks(rest, length)) append_in_pieces(chunk, pace, chunks);
  if (chunks.empty()) chunks.emplace_back();  // nothing but white space
  return chunks;
}

}  // namespace parlance
