#version 450
// matmul_row.comp for devices that multiply four bytes at once.
#define PARLANCE_INTEGER_DOT
#include "matmul_row.glsl"
