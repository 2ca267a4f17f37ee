#include "asr/audio_rows.h"

#include <algorithm>
#include <atomic>

#include "base/checked.h"

namespace parlance {

namespace {

// Of a window in a preview: the model was trained with windows of 1 to 8 seconds.
constexpr int64_t kPreviewChunks = 2;
// How far below the loudest value of a clip its frames may lie, see normalise_mel().
constexpr float kMelRange = 8;

float clamp_of(const MelClip& clip) {
  return clip.largest - kMelRange;
}

// Whether what was computed with another clamp would be the same with the clip's, or is good enough.
bool is_valid(const ChunkLevel& level, const MelClip& clip, RowsKind kind) {
  const float now = clamp_of(clip);
  return kind == RowsKind::preview || level.clamp == now || level.lowest >= std::max(level.clamp, now);
}

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

// Whole windows, then what is left: one open window, or in a preview several short ones.
std::vector<AudioRows::Range> AudioRows::ranges(int64_t n_chunks, RowsKind kind) const {
  std::vector<Range> ranges;
  int64_t first = 0;
  for (; first + mode_.window_chunks <= n_chunks; first += mode_.window_chunks)
    ranges.push_back({first, mode_.window_chunks});
  const int64_t step = kind == RowsKind::preview ? kPreviewChunks : mode_.window_chunks;
  for (; first < n_chunks; first += step) ranges.push_back({first, std::min(step, n_chunks - first)});
  return ranges;
}

// Appends the chunk's tokens.
Result<ChunkLevel> AudioRows::embed(int64_t chunk, const MelClip& clip, std::vector<float>& tokens,
                                    const Work& work) {
  const int64_t first = chunk * mode_.chunk_frames;
  const int64_t last = std::min(first + mode_.chunk_frames, clip.n_frames);
  // A clip of one chunk is not filled up, others are.
  const bool is_alone = clip.n_frames <= mode_.chunk_frames && !mode_.keeps_padding;
  return embed(chunk, last, is_alone ? last - first : mode_.chunk_frames, clip, tokens, work);
}

// The same of its frames before `last`. Tokens that were known before, of a clip as loud, are not computed
// again.
Result<ChunkLevel> AudioRows::embed(int64_t chunk, int64_t last, int64_t n_padded, const MelClip& clip,
                                    std::vector<float>& tokens, const Work& work) {
  const int64_t first = chunk * mode_.chunk_frames;
  std::vector<float> frames;
  if (first < clip.first) {
    const auto known = mel_.frames(first, std::min(last, clip.first));
    frames.assign(known.begin(), known.end());
  }
  if (last > clip.first) {
    const auto from = static_cast<size_t>((std::max(first, clip.first) - clip.first) * kMelBands);
    frames.insert(frames.end(), clip.tail.begin() + static_cast<std::ptrdiff_t>(from),
                  clip.tail.begin() + static_cast<std::ptrdiff_t>((last - clip.first) * kMelBands));
  }
  const ChunkLevel level{.lowest = *std::min_element(frames.begin(), frames.end()), .clamp = clamp_of(clip)};
  normalise_mel(frames, clip.largest);
  const size_t before = tokens.size();
  const Chunk& known = beginning_.known;
  const bool is_known = beginning_.chunk == chunk && is_valid(known.level, clip, RowsKind::exact) &&
                        encoder_->are_alike(beginning_.n_padded, n_padded);
  if (is_known) tokens.insert(tokens.end(), known.tokens.begin(), known.tokens.end());
  const auto n_known = std::ssize(tokens) - static_cast<std::ptrdiff_t>(before);
  PARLANCE_CHECK(encoder_->embed_chunk(frames, n_padded, tokens, work, n_known / encoder_->n_embd()));
  if (chunk >= chunks_closed()) keep_beginning(chunk, n_padded, std::span(tokens).subspan(before), level);
  return level;
}

void AudioRows::keep_beginning(int64_t chunk, int64_t n_padded, std::span<const float> tokens,
                               const ChunkLevel& level) {
  const int64_t n_final = mel_.n_final() - chunk * mode_.chunk_frames;
  if (n_final < AudioEncoder::kFramesPerToken) return;
  const int64_t n_tokens = AudioEncoder::n_final_tokens(n_final);
  beginning_.chunk = chunk;
  beginning_.n_padded = n_padded;
  beginning_.known.level = level;
  beginning_.known.tokens.assign(tokens.begin(), tokens.begin() + n_tokens * encoder_->n_embd());
}

// Puts it into chunks_, unless it is there.
Result<void> AudioRows::compute_closed_chunk(int64_t chunk, const MelClip& clip, RowsKind kind,
                                             const Work& work) {
  if (chunk < std::ssize(chunks_) && is_valid(chunks_[static_cast<size_t>(chunk)].level, clip, kind))
    return {};
  Chunk fresh;
  PARLANCE_TRY(fresh.level, embed(chunk, clip, fresh.tokens, work));
  if (chunk == std::ssize(chunks_)) chunks_.emplace_back();
  chunks_[static_cast<size_t>(chunk)] = std::move(fresh);
  return {};
}

Result<AudioWindow> AudioRows::encode(const Range& range, const MelClip& clip, RowsKind kind,
                                      const Work& work) {
  AudioWindow window;
  window.first_chunk = range.first_chunk;
  window.n_chunks = range.n_chunks;
  window.is_closed = range.first_chunk + range.n_chunks <= chunks_closed();
  std::vector<float> tokens;
  for (int64_t chunk = range.first_chunk; chunk < range.first_chunk + range.n_chunks; ++chunk) {
    if (chunk < chunks_closed()) {
      PARLANCE_CHECK(compute_closed_chunk(chunk, clip, kind, work));
      const Chunk& closed = chunks_[static_cast<size_t>(chunk)];
      tokens.insert(tokens.end(), closed.tokens.begin(), closed.tokens.end());
      window.levels.push_back(closed.level);
      continue;
    }
    PARLANCE_TRY(const ChunkLevel level, embed(chunk, clip, tokens, work));
    window.levels.push_back(level);
  }
  PARLANCE_CHECK(encoder_->encode_window(tokens, window.rows, work));
  window.id = next_id();
  return window;
}

// Of a chunk that is open only tokens that are final: as if it ended behind their frames.
Result<void> AudioRows::listen(const Work& work) {
  if (!listens()) return {};
  const MelClip clip = mel_.finish();
  for (int64_t chunk = std::ssize(chunks_); chunk < chunks_closed(); ++chunk)
    PARLANCE_CHECK(compute_closed_chunk(chunk, clip, RowsKind::preview, work));
  const int64_t chunk = chunks_closed();
  const int64_t n_final = AudioEncoder::n_final_tokens(mel_.n_final() - chunk * mode_.chunk_frames);
  const int64_t n_frames = n_final * AudioEncoder::kFramesPerToken;
  // In an image so small, tokens may have other bits than in a whole one.
  if (n_final == 0 || !encoder_->are_alike(n_frames, mode_.chunk_frames)) return {};
  std::vector<float> tokens;
  PARLANCE_CHECK(embed(chunk, chunk * mode_.chunk_frames + n_frames, n_frames, clip, tokens, work));
  return {};
}

Result<void> AudioRows::refresh(RowsKind kind, const Work& work) {
  const MelClip clip = mel_.finish();
  const std::vector<Range> wanted = ranges(div_up(clip.n_frames, mode_.chunk_frames), kind);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Range& range = wanted[i];
    if (i < windows_.size()) {
      const AudioWindow& known = windows_[i];
      if (known.is_closed && known.first_chunk == range.first_chunk && known.n_chunks == range.n_chunks &&
          std::all_of(known.levels.begin(), known.levels.end(),
                      [&](const ChunkLevel& level) { return is_valid(level, clip, kind); })) {
        continue;
      }
    }
    windows_.resize(i);  // what follows lies elsewhere, or is open
    PARLANCE_TRY(AudioWindow window, encode(range, clip, kind, work));
    windows_.push_back(std::move(window));
    if (on_window_)
      on_window_(std::min(clip.n_frames, (range.first_chunk + range.n_chunks) * mode_.chunk_frames));
  }
  windows_.resize(wanted.size());
  return {};
}

}  // namespace parlance
