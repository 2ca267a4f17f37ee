#version 450
// attention over plain formats (f32, f16, bf16, q8_0), without the decoders of others: some drivers take long to
// compile.
#define PARLANCE_PLAIN_FORMATS
#include "attention.glsl"
