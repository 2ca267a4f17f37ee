// src/kernels/vulkan/kv_transform.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

template<typename T>
[[clang::optnone]] T spvFMul(T l, T r)
{
    return fma(l, r, T(0));
}

template<typename T, int Cols, int Rows>
[[clang::optnone]] vec<T, Cols> spvFMulVectorMatrix(vec<T, Rows> v, matrix<T, Cols, Rows> m)
{
    vec<T, Cols> res = vec<T, Cols>(0);
    for (uint i = Rows; i > 0; --i)
    {
        vec<T, Cols> tmp(0);
        for (uint j = 0; j < Cols; ++j)
        {
            tmp[j] = m[j][i - 1];
        }
        res = fma(tmp, vec<T, Cols>(v[i - 1]), res);
    }
    return res;
}

template<typename T, int Cols, int Rows>
[[clang::optnone]] vec<T, Rows> spvFMulMatrixVector(matrix<T, Cols, Rows> m, vec<T, Cols> v)
{
    vec<T, Rows> res = vec<T, Rows>(0);
    for (uint i = Cols; i > 0; --i)
    {
        res = fma(m[i - 1], vec<T, Rows>(v[i - 1]), res);
    }
    return res;
}

template<typename T, int LCols, int LRows, int RCols, int RRows>
[[clang::optnone]] matrix<T, RCols, LRows> spvFMulMatrixMatrix(matrix<T, LCols, LRows> l, matrix<T, RCols, RRows> r)
{
    matrix<T, RCols, LRows> res;
    for (uint i = 0; i < RCols; i++)
    {
        vec<T, RCols> tmp(0);
        for (uint j = 0; j < LCols; j++)
        {
            tmp = fma(vec<T, RCols>(r[i][j]), l[j], tmp);
        }
        res[i] = tmp;
    }
    return res;
}

template<typename T>
[[clang::optnone]] T spvFAdd(T l, T r)
{
    return fma(T(1), l, r);
}

template<typename T>
[[clang::optnone]] T spvFSub(T l, T r)
{
    return fma(T(-1), r, l);
}

#ifndef SPIRV_CROSS_CONSTANT_ID_1
#define SPIRV_CROSS_CONSTANT_ID_1 128u
#endif
constant uint kHeadDim = SPIRV_CROSS_CONSTANT_ID_1;

struct Constants
{
    float constants[1];
};

struct Sketch
{
    float sketch[1];
};

struct Push
{
    uint n;
    uint source_first;
    uint stored_first;
    uint rotated_block;
    float root;
};

struct Source
{
    float source[1];
};

constant uint kTransform_tmp [[function_constant(0)]];
constant uint kTransform = is_function_constant_defined(kTransform_tmp) ? kTransform_tmp : 1u;
constant bool _333 = (kTransform < 5u);

struct Stored
{
    float stored[1];
};

constant uint _386 = (2u * kHeadDim);
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
void hadamard(thread const uint& n, thread const uint& block, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim])
{
    for (uint len = 1u; len < block; len *= 2u)
    {
        for (uint pair = gl_LocalInvocationID.x; pair < (n / 2u); pair += 64u)
        {
            uint first = ((pair & (~(len - 1u))) * 2u) + (pair & (len - 1u));
            float a = x[first];
            float b = x[first + len];
            x[first] = spvFAdd(a, b);
            x[first + len] = spvFSub(a, b);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void multiply(thread const uint& n, thread const float& factor, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim])
{
    for (uint i = gl_LocalInvocationID.x; i < n; i += 64u)
    {
        x[i] = spvFMul(x[i], factor);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void multiply_signs(thread const uint& n, thread const uint& first, thread const uint& period, thread const float& factor, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_161)
{
    for (uint i = gl_LocalInvocationID.x; i < n; i += 64u)
    {
        x[i] = spvFMul(x[i], spvFMul(factor, v_161.constants[first + (i & (period - 1u))]));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void to_stored(thread const uint& transform, thread const uint& n, thread const uint& block, thread const float& root, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_161)
{
    switch (transform)
    {
        case 1u:
        {
            if (block > 1u)
            {
                uint param = n;
                uint param_1 = block;
                hadamard(param, param_1, gl_LocalInvocationID, x);
                uint param_2 = n;
                float param_3 = root;
                multiply(param_2, param_3, gl_LocalInvocationID, x);
            }
            break;
        }
        case 2u:
        {
            uint param_4 = n;
            uint param_5 = 64u;
            uint param_6 = 32u;
            float param_7 = 1.0;
            multiply_signs(param_4, param_5, param_6, param_7, gl_LocalInvocationID, x, v_161);
            uint param_8 = n;
            uint param_9 = 32u;
            hadamard(param_8, param_9, gl_LocalInvocationID, x);
            uint param_10 = n;
            float param_11 = 0.17677669227123260498046875;
            multiply(param_10, param_11, gl_LocalInvocationID, x);
            break;
        }
        case 3u:
        {
            uint param_12 = n;
            uint param_13 = 96u;
            uint param_14 = 128u;
            float param_15 = 1.0;
            multiply_signs(param_12, param_13, param_14, param_15, gl_LocalInvocationID, x, v_161);
            uint param_16 = n;
            uint param_17 = 128u;
            hadamard(param_16, param_17, gl_LocalInvocationID, x);
            uint param_18 = n;
            uint param_19 = 224u;
            uint param_20 = 128u;
            float param_21 = 0.088388346135616302490234375;
            multiply_signs(param_18, param_19, param_20, param_21, gl_LocalInvocationID, x, v_161);
            break;
        }
        case 4u:
        {
            uint param_22 = n;
            uint param_23 = 128u;
            hadamard(param_22, param_23, gl_LocalInvocationID, x);
            uint param_24 = n;
            float param_25 = 0.0078125;
            multiply(param_24, param_25, gl_LocalInvocationID, x);
            break;
        }
    }
}

static inline __attribute__((always_inline))
float to_sketch(thread const uint& j, threadgroup float (&x)[kHeadDim], const device Sketch& v_275)
{
    uint first = (j / 256u) * 128u;
    float sum = 0.0;
    for (uint i = 0u; i < 128u; i++)
    {
        sum = spvFAdd(sum, spvFMul(x[first + i], v_275.sketch[(i * 256u) + (j % 256u)]));
    }
    return sum;
}

kernel void kv_transform(constant Push& push [[buffer(30)]], const device Source& _318 [[buffer(0)]], device Stored& _361 [[buffer(1)]], const device Constants& v_161 [[buffer(2)]], const device Sketch& v_275 [[buffer(3)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float x[kHeadDim];
    uint vector = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (vector >= push.n)
    {
        return;
    }
    for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += 64u)
    {
        x[i] = _318.source[(push.source_first + (vector * kHeadDim)) + i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (_333)
    {
        uint param = kTransform;
        uint param_1 = kHeadDim;
        uint param_2 = push.rotated_block;
        float param_3 = push.root;
        to_stored(param, param_1, param_2, param_3, gl_LocalInvocationID, x, v_161);
        for (uint i_1 = gl_LocalInvocationID.x; i_1 < kHeadDim; i_1 += 64u)
        {
            _361.stored[(push.stored_first + (vector * kHeadDim)) + i_1] = x[i_1];
        }
        return;
    }
    for (uint j = gl_LocalInvocationID.x; j < _386; j += 64u)
    {
        uint param_4 = j;
        _361.stored[(push.stored_first + ((vector * 2u) * kHeadDim)) + j] = to_sketch(param_4, x, v_275);
    }
}

