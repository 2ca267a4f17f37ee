#version 450
// attention over any formats of keys and values.
#include "attention.glsl"
