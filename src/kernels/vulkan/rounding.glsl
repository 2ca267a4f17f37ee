// How activations are rounded to signed bytes and a step for products with quantised weights
// (kernels/cpu/matmul/activations.h is the definition).

#include "exact.glsl"
#include "finite.glsl"

// 32 values as codes, four in a word, and the step; the step times the sum of the first 16 codes, of the last 16, of
// all. Runs below the smallest magnitude count as zero; of one with NaN or an infinity that is the step.
void round_run(vec4 values[8], float smallest_magnitude, out uvec4 low, out uvec4 high, out vec4 scales) {
  uvec4 magnitudes = uvec4(0);
  for (uint i = 0; i < 8; ++i) magnitudes = max(magnitudes, magnitude_bits(values[i]));
  const uint most = max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w));
  const bool is_zero = most < magnitude_bits(smallest_magnitude);
  const float magnitude = uintBitsToFloat(most);
  const float inverse = is_zero ? 0 : divided(127, magnitude);
  uint words[8];
  ivec4 sums[2] = ivec4[2](ivec4(0), ivec4(0));
  for (uint i = 0; i < 8; ++i) {
    precise const vec4 scaled = values[i] * inverse;
    const ivec4 code = ivec4(roundEven(scaled));
    const uvec4 bits = uvec4(code & 255) << uvec4(0, 8, 16, 24);
    words[i] = bits.x | bits.y | bits.z | bits.w;
    sums[i / 4] += code;
  }
  low = uvec4(words[0], words[1], words[2], words[3]);
  high = uvec4(words[4], words[5], words[6], words[7]);
  const int first = sums[0].x + sums[0].y + sums[0].z + sums[0].w;
  const int last = sums[1].x + sums[1].y + sums[1].z + sums[1].w;
  const float step = is_zero ? 0 : magnitude / 127;
  scales = vec4(step, step * vec3(first, last, first + last));
}
