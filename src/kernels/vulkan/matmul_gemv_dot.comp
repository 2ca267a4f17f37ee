#version 450
// matmul_gemv.comp for devices that multiply four bytes at once (which cannot be translated to Metal).
#define PARLANCE_INTEGER_DOT
#include "matmul_gemv.glsl"
