#version 450
#include "matmul_row.glsl"
