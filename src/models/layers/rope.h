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

// Which of its positions each pair turns with, [n_pairs]; `sections` says for how many pairs of the first
// ones a position lasts. Interleaved M-RoPE (Qwen3-VL): pair j, modulo the number of pairs in all sections,
// belongs to position j mod 3 while that one's section lasts, and then to the fourth.
std::vector<int32_t> interleaved_sections(std::span<const int64_t> sections, int64_t n_pairs);

// M-RoPE as Qwen2-VL has it: one section after the other.
std::vector<int32_t> consecutive_sections(std::span<const int64_t> sections, int64_t n_pairs);

}  // namespace parlance
