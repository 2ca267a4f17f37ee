#version 450
// Activations as products with quantised weights see them: signed bytes and one step for every 32 values
// (kernels/cpu/matmul/activations.h is the definition). Eight lanes for such a run: a decode step has few of them.
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;

#include "grid.glsl"
#include "rounding.glsl"

layout(set = 0, binding = 0, std430) readonly restrict buffer X { vec4 x[]; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer Codes { uint codes[]; };  // four bytes for each lane
// step; step times the sum of the first 16 codes, of the last 16, of all
layout(set = 0, binding = 2, std430) writeonly restrict buffer Scales { vec4 scales[]; };

layout(push_constant) uniform Push {
  uint x_at;  // elements of 16 bytes, as the next one
  uint scales_at;
  uint n_runs;
  float smallest_magnitude;  // runs below it count as zero
} push;

const uint kLanes = 8;  // of a run
shared uint largest[128];  // bits of a magnitude
shared int sums[128];

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint first_lane = lane - lane % kLanes;  // of the run
  const uint run = flat_invocation() / kLanes;
  const bool is_inside = run < push.n_runs;
  const vec4 values = is_inside ? x[push.x_at + kLanes * run + lane % kLanes] : vec4(0);
  const uvec4 magnitudes = magnitude_bits(values);
  largest[lane] = max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w));
  barrier();
  uint most = 0;
  for (uint i = 0; i < kLanes; ++i) most = max(most, largest[first_lane + i]);

  const ivec4 code = codes_of(values, inverse_step(most, push.smallest_magnitude));
  sums[lane] = code.x + code.y + code.z + code.w;
  barrier();
  if (!is_inside) return;
  codes[kLanes * run + lane % kLanes] = packed(code);
  if (lane != first_lane) return;
  int first_half = 0, second_half = 0;
  for (uint i = 0; i < kLanes / 2; ++i) {
    first_half += sums[first_lane + i];
    second_half += sums[first_lane + kLanes / 2 + i];
  }
  scales[push.scales_at + run] = scales_of(step_of(most, push.smallest_magnitude), first_half, second_half);
}
