#version 450
// attention.comp for a token alone, with what norm_rope_write.comp does before.
#define PARLANCE_FRESH
#define PARLANCE_PLAIN_FORMATS
#include "attention.glsl"
