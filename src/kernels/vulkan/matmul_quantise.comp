#version 450
// Activations as products with quantised weights see them: signed bytes and one step for every 32 values
// (kernels/cpu/matmul/activations.h is the definition). One lane for such a run.
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;

#include "grid.glsl"

layout(set = 0, binding = 0, std430) readonly restrict buffer X { vec4 x[]; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer Codes { uvec4 codes[]; };  // two for each run
// step; step times the sum of the first 16 codes, of the last 16, of all
layout(set = 0, binding = 2, std430) writeonly restrict buffer Scales { vec4 scales[]; };

layout(push_constant) uniform Push {
  uint x_at;  // elements of 16 bytes, as the next one
  uint scales_at;
  uint n_runs;
  float smallest_magnitude;  // runs below it count as zero
} push;

// The upper 12 bits of a float's mantissa; the rest is exact too, and so are products of such parts.
float upper_part(float value) { return uintBitsToFloat(floatBitsToUint(value) & 0xfffff000); }

// 127 / magnitude, rounded as on the CPU: the quotient of a shader may be 2.5 units off in its last place,
// which would change codes. It is corrected by its residual, computed without rounding (fma() need not be
// fused).
float inverse_step(float magnitude) {
  precise const float quotient = 127 / magnitude;
  const float q = upper_part(quotient);
  const float m = upper_part(magnitude);
  precise const float q_rest = quotient - q;
  precise const float m_rest = magnitude - m;
  precise const float residual = (((127 - q * m) - q * m_rest) - q_rest * m) - q_rest * m_rest;
  precise const float corrected = quotient + residual / magnitude;
  return corrected;
}

void main() {
  const uint run = flat_invocation();
  if (run >= push.n_runs) return;
  vec4 values[8];
  vec4 magnitudes = vec4(0);
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    values[i] = x[push.x_at + 8 * run + i];
    magnitudes = max(magnitudes, abs(values[i]));
  }
  const float magnitude = max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w));
  const bool is_zero = magnitude < push.smallest_magnitude;
  const float inverse = is_zero ? 0 : inverse_step(magnitude);
  uint packed[8];
  int sums[2] = int[2](0, 0);
  [[unroll]] for (uint i = 0; i < 32; ++i) {
    precise const float scaled = values[i / 4][i % 4] * inverse;
    const int code = int(roundEven(scaled));
    sums[i / 16] += code;
    const uint bits = uint(code & 255) << (8 * (i % 4));
    packed[i / 4] = i % 4 == 0 ? bits : packed[i / 4] | bits;
  }
  codes[2 * run] = uvec4(packed[0], packed[1], packed[2], packed[3]);
  codes[2 * run + 1] = uvec4(packed[4], packed[5], packed[6], packed[7]);
  const float step = is_zero ? 0 : magnitude / 127;
  scales[push.scales_at + run] = vec4(step, step * vec3(sums[0], sums[1], sums[0] + sums[1]));
}
