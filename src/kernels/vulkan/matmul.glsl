// What the kernels of matmul share: operands, and which values of them a call is about.
#include "weights.glsl"

// Activations: as f32 for weights of a float type; otherwise as matmul_quantise.comp wrote them.
layout(set = 0, binding = 2, std430) readonly restrict buffer X { float x[]; };            // [n_in, n_tokens]
layout(set = 0, binding = 3, std430) readonly restrict buffer XQuads { vec4 x_quads[]; };  // the same memory
layout(set = 0, binding = 4, std430) readonly restrict buffer XCodes { uvec4 x_codes[]; };
// the same memory
layout(set = 0, binding = 5, std430) readonly restrict buffer XScales { vec4 x_scales[]; };
layout(set = 0, binding = 6, std430) readonly restrict buffer Bias { float bias[]; };
layout(set = 0, binding = 7, std430) writeonly restrict buffer Out { float result[]; };  // [n_out, n_tokens]

layout(push_constant) uniform Push {
  uint weight_at;  // bytes
  uint row_bytes;
  uint x_at;         // elements
  uint x_scales_at;  // elements
  uint bias_at;      // elements
  uint has_bias;
  uint out_at;  // elements
  uint n_in;
  uint n_out;
  uint first_row;  // of this launch
  uint n_rows;     // likewise; weight_at is where the first of them starts
  uint n_tokens;
  float smallest_magnitude;  // runs of activations below it count as zero
} push;

// Rows (of this launch) and tokens past the end are computed like the last one, and not stored.
uint row_address(uint row) { return push.weight_at + min(row, push.n_rows - 1) * push.row_bytes; }
uint token_or_last(uint token) { return min(token, push.n_tokens - 1); }

void store(uint row, uint token, float product) {
  if (row >= push.n_rows || token >= push.n_tokens) return;
  const uint out_row = push.first_row + row;
  const float offset = push.has_bias != 0 ? bias[push.bias_at + out_row] : 0;
  result[push.out_at + token * push.n_out + out_row] = product + offset;
}
