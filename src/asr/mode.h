// How audio is cut for the encoder. The published model and the eliza-1 program differ; both use the same
// weights.
#pragma once

#include <cstdint>

#include "audio/mel.h"

namespace parlance {

struct AsrMode {
  MelOptions mel;
  int64_t chunk_frames = 100;  // that convolutions see together
  int64_t window_chunks = 8;   // that attention sees together
  bool keeps_padding = false;  // tokens of the zeros that the last chunk is filled up with count
  // Rotary pairs of no section turn for audio tokens only, see SessionOptions.
  bool sectioned_positions = false;
};

// What the model was trained for.
inline constexpr AsrMode kReferenceAsr{};

// What the eliza-1 program computes (a fork of llama.cpp, May 2026): for comparing with it.
inline constexpr AsrMode kElizaAsr{.mel = kElizaMel,
                                   .chunk_frames = 200,
                                   .window_chunks = 1,
                                   .keeps_padding = true,
                                   .sectioned_positions = true};

}  // namespace parlance
