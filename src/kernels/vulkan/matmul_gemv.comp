#version 450
#include "matmul_gemv.glsl"
