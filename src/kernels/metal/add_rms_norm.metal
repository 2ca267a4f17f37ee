// src/kernels/vulkan/add_rms_norm.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#pragma clang diagnostic ignored "-Wmissing-braces"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

template<typename T, size_t Num>
struct spvUnsafeArray
{
    T elements[Num ? Num : 1];

    thread T& operator [] (size_t pos) thread
    {
        return elements[pos];
    }
    constexpr const thread T& operator [] (size_t pos) const thread
    {
        return elements[pos];
    }

    device T& operator [] (size_t pos) device
    {
        return elements[pos];
    }
    constexpr const device T& operator [] (size_t pos) const device
    {
        return elements[pos];
    }

    constexpr const constant T& operator [] (size_t pos) const constant
    {
        return elements[pos];
    }

    threadgroup T& operator [] (size_t pos) threadgroup
    {
        return elements[pos];
    }
    constexpr const threadgroup T& operator [] (size_t pos) const threadgroup
    {
        return elements[pos];
    }
};

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

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 128u
#endif
constant uint kMostThreads = SPIRV_CROSS_CONSTANT_ID_0;
constant uint _141 = (kMostThreads + 3u);
constant uint _143 = (_141 / 4u);
constant uint _144 = (_143 * 1u);

struct Push
{
    uint n;
    uint n_rows;
    uint h_first;
    uint y_first;
    uint weight_first;
    uint out_first;
    float eps;
};

struct H
{
    float h[1];
};

struct Y
{
    float y[1];
};

struct Out
{
    float result[1];
};

struct Weight
{
    float weight[1];
};

constant uint _348_tmp [[function_constant(0)]];
constant uint _348 = is_function_constant_defined(_348_tmp) ? _348_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_348, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
float added_square(thread const float& sum, thread const float& value)
{
    float square = spvFMul(value, value);
    float added = spvFAdd(sum, square);
    return added;
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, 1>& values, thread const bool& is_sum, threadgroup float (&reduced)[_144], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, 1> results;
    float _110;
    for (uint i = 0u; i < 1u; i++)
    {
        if (is_sum)
        {
            _110 = simd_sum(values[i]);
        }
        else
        {
            _110 = simd_max(values[i]);
        }
        results[i] = _110;
    }
    bool _129 = simd_is_first();
    if (_129)
    {
        for (uint i_1 = 0u; i_1 < 1u; i_1++)
        {
            reduced[(gl_SubgroupID * 1u) + i_1] = results[i_1];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
uint n_reduced(thread uint& gl_NumSubgroups)
{
    return gl_NumSubgroups;
}

static inline __attribute__((always_inline))
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_144], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * 1u) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
float sum_of_group(thread const float& value, threadgroup float (&reduced)[_144], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups)
{
    spvUnsafeArray<float, 1> values;
    values[0] = value;
    spvUnsafeArray<float, 1> param;
    param = values;
    bool param_1 = true;
    reduce(param, param_1, reduced, gl_SubgroupID);
    uint param_2 = 0u;
    return reduced_sum(param_2, reduced, gl_NumSubgroups);
}

static inline __attribute__((always_inline))
float norm_scale(thread const float& sum_of_squares, thread const uint& n, thread const float& eps)
{
    return 1.0 / sqrt((sum_of_squares / float(n)) + eps);
}

static inline __attribute__((always_inline))
float normalised(thread const float& value, thread const float& scale, thread const float& weight)
{
    float scaled = spvFMul(value, scale);
    float weighed = spvFMul(scaled, weight);
    return weighed;
}

kernel void add_rms_norm(constant Push& push [[buffer(30)]], device H& _252 [[buffer(0)]], const device Y& _262 [[buffer(1)]], const device Weight& _330 [[buffer(2)]], device Out& _320 [[buffer(3)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float reduced[_144];
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (row >= push.n_rows)
    {
        return;
    }
    uint h_first = push.h_first + (row * push.n);
    uint y_first = push.y_first + (row * push.n);
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < push.n; i += kMostThreads)
    {
        float value = _252.h[h_first + i] + _262.y[y_first + i];
        _252.h[h_first + i] = value;
        float param = sum;
        float param_1 = value;
        sum = added_square(param, param_1);
    }
    float param_2 = sum;
    float _283 = sum_of_group(param_2, reduced, gl_SubgroupID, gl_NumSubgroups);
    sum = _283;
    float param_3 = sum;
    uint param_4 = push.n;
    float param_5 = push.eps;
    float scale = norm_scale(param_3, param_4, param_5);
    uint out_first = push.out_first + (row * push.n);
    for (uint i_1 = gl_LocalInvocationID.x; i_1 < push.n; i_1 += kMostThreads)
    {
        float param_6 = _252.h[h_first + i_1];
        float param_7 = scale;
        float param_8 = _330.weight[push.weight_first + i_1];
        _320.result[out_first + i_1] = normalised(param_6, param_7, param_8);
    }
}

