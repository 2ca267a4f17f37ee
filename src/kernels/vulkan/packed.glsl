// What the shaders of packed rows (kernels/packed_args.h) share: a group serves one vector, whose stored values are
// read in pairs.
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 0) const uint kFormat = 1;     // kv_formats.glsl
layout(constant_id = 1) const uint kTransform = 0;  // kv_transform.glsl
layout(constant_id = 2) const uint kStored = 128;   // values of a row
layout(constant_id = 3) const uint kVLevels = 1;    // room for the format's levels
layout(constant_id = 4) const bool kHasResidual = false;
const bool kWholeQuads = false;
const uint kLanes = 64;
layout(local_size_x = 64) in;

layout(binding = 0) readonly buffer KvWords { uint kv_words[]; };
layout(binding = 1) readonly buffer Constants { float constants[]; };
layout(binding = 2) readonly buffer Sketch { float sketch[]; };  // (128, 256)

shared float x[kStored];

uint v_format() { return kFormat; }

#include "grid.glsl"
#include "kv_formats.glsl"
#include "kv_rows.glsl"
#include "kv_transform.glsl"
#include "kv_sketch.glsl"

// What came of the stored values in x, `head_dim` of them.
float from_stored_value(uint i) { return kTransform < kSketch ? x[i] : from_sketch(i); }
void from_stored_values() { from_stored(kTransform, kTransform < kSketch ? kStored : 0, 1, 1); }
