// How activations are rounded to signed bytes and a step for products with quantised weights
// (kernels/cpu/matmul/activations.h is the definition).

#include "exact.glsl"
#include "finite.glsl"

// Of a run whose largest magnitude has the bits `most`: what its values are multiplied with, and the step of the codes
// that come of it. Runs below the smallest magnitude count as zero; of one with NaN or an infinity that is the step.
float inverse_step(uint most, float smallest_magnitude) {
  return most < magnitude_bits(smallest_magnitude) ? 0 : divided(127, uintBitsToFloat(most));
}
float step_of(uint most, float smallest_magnitude) {
  return most < magnitude_bits(smallest_magnitude) ? 0 : uintBitsToFloat(most) / 127;
}

ivec4 codes_of(vec4 values, float inverse) {
  precise const vec4 scaled = values * inverse;
  return ivec4(roundEven(scaled));
}

uint packed(ivec4 codes) {
  const uvec4 bits = uvec4(codes & 255) << uvec4(0, 8, 16, 24);
  return bits.x | bits.y | bits.z | bits.w;
}

// The step, and the step times the sum of the run's first 16 codes, of the last 16, of all.
vec4 scales_of(float step, int first, int last) { return vec4(step, step * vec3(first, last, first + last)); }

// 32 values as codes, four in a word, and scales_of() them.
void round_run(vec4 values[8], float smallest_magnitude, out uvec4 low, out uvec4 high, out vec4 scales) {
  uvec4 magnitudes = uvec4(0);
  for (uint i = 0; i < 8; ++i) magnitudes = max(magnitudes, magnitude_bits(values[i]));
  const uint most = max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w));
  const float inverse = inverse_step(most, smallest_magnitude);
  uint words[8];
  ivec4 sums[2] = ivec4[2](ivec4(0), ivec4(0));
  for (uint i = 0; i < 8; ++i) {
    const ivec4 codes = codes_of(values[i], inverse);
    words[i] = packed(codes);
    sums[i / 4] += codes;
  }
  low = uvec4(words[0], words[1], words[2], words[3]);
  high = uvec4(words[4], words[5], words[6], words[7]);
  scales = scales_of(step_of(most, smallest_magnitude), sums[0].x + sums[0].y + sums[0].z + sums[0].w,
                     sums[1].x + sums[1].y + sums[1].z + sums[1].w);
}
