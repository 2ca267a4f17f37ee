// Rotary position embedding: the frequencies that rope_angles() multiplies positions with.
#pragma once

#include <span>
#include <vector>

#include "models/hyper_parameters.h"

namespace parlance {

struct RopeFrequencies {
  std::vector<float> inverse;  // [n_rot / 2, 2]: radians per position, each as the sum of two floats
  float magnitude = 1;         // multiplies cos and sin
};

// Frequency of pair i: theta^(-2i/n_rot), divided by factors[i] when the file has `rope_freqs.weight` (Llama
// 3, which then replaces any scaling), else stretched linearly or by YaRN (Peng et al., 2023).
RopeFrequencies rope_frequencies(const RopeParameters& rope, std::span<const float> factors);

// 1 for the pairs of interleaved M-RoPE that turn with the fourth position, else 0: [n_rot / 2]. Pair j,
// modulo the number of pairs in all sections, belongs to position j mod 3 while that one's section lasts.
std::vector<float> pairs_of_no_section(const RopeParameters& rope);

}  // namespace parlance
