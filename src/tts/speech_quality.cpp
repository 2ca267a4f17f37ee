#include "tts/speech_quality.h"

#include <array>
#include <utility>

namespace parlance {

namespace {

constexpr std::array<std::pair<std::string_view, SpeechQuality>, 3> kNames = {
    {{"exact", SpeechQuality::exact}, {"standard", SpeechQuality::standard}, {"fast", SpeechQuality::fast}}};

constexpr int64_t kMostFrames = 3000;

}  // namespace

std::optional<SpeechQuality> speech_quality_from_name(std::string_view name) {
  for (const auto& [known, quality] : kNames) {
    if (name == known) return quality;
  }
  return std::nullopt;
}

std::string_view name_of(SpeechQuality quality) {
  for (const auto& [name, known] : kNames) {
    if (quality == known) return name;
  }
  return "";
}

SpeechShortcuts shortcuts_of(SpeechQuality quality) {
  switch (quality) {
    case SpeechQuality::exact:
      break;
    case SpeechQuality::standard:
      return {.first_frames = 32,
              .first_steps = 8,
              .kept_steps = 12,
              .kept_share = 0.5f,
              .guidance_share = 0.05f};
    case SpeechQuality::fast:
      return {.first_frames = 32,
              .block_frames = 64,
              .first_steps = 8,
              .kept_steps = 16,
              .kept_share = 0.5f,
              .guidance_share = 0.05f,
              .marginal = 0.5f,
              .confidence = 0.8f};
  }
  return {};
}

int steps_of(SpeechQuality quality, bool has_reference) {
  if (quality == SpeechQuality::exact) return 32;
  if (quality == SpeechQuality::standard) return has_reference ? 12 : 16;
  return has_reference ? 8 : 10;
}

Result<void> check_shortcuts(const SpeechShortcuts& shortcuts) {
  const auto is_share = [](float x) { return x >= 0 && x <= 1; };
  const auto is_number = [](int64_t n, int64_t least, int64_t most) { return n >= least && n <= most; };
  if (!is_number(shortcuts.first_frames, 0, kMostFrames) ||
      !is_number(shortcuts.block_frames, 0, kMostFrames) || !is_number(shortcuts.first_steps, 0, 1000) ||
      !is_number(shortcuts.far_frames, 1, kMostFrames) || !is_number(shortcuts.kept_steps, 1, 1000)) {
    return fail(ErrorCode::invalid_argument,
                "blocks of {} and {} frames, {} passes over the first, one of {} far frames, all anew every "
                "{}: expected frames up to {} and passes up to 1000",
                shortcuts.first_frames, shortcuts.block_frames, shortcuts.first_steps, shortcuts.far_frames,
                shortcuts.kept_steps, kMostFrames);
  }
  if (is_share(shortcuts.kept_share) && is_share(shortcuts.guidance_share) && is_share(shortcuts.marginal) &&
      is_share(shortcuts.confidence))
    return {};
  return fail(ErrorCode::invalid_argument,
              "shares of {}, {}, {} and {} of what is kept, guided, marginal and sure: expected 0 to 1 each",
              shortcuts.kept_share, shortcuts.guidance_share, shortcuts.marginal, shortcuts.confidence);
}

std::vector<int64_t> block_ends(const SpeechShortcuts& shortcuts, int64_t n_frames) {
  std::vector<int64_t> ends;
  int64_t at = 0;
  // What would be left for the last block alone must be worth passes of its own.
  const auto take = [&](int64_t n) {
    if (n == 0 || n_frames - at < n + n / 2) return false;
    at += n;
    ends.push_back(at);
    return true;
  };
  if (take(shortcuts.first_frames)) {
    while (take(shortcuts.block_frames)) {
    }
  } else if (shortcuts.first_frames == 0) {
    while (take(shortcuts.block_frames)) {
    }
  }
  ends.push_back(n_frames);
  return ends;
}

}  // namespace parlance
