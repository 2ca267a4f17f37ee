// src/kernels/vulkan/rms_norm.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 128u
#endif
constant uint kMostThreads = SPIRV_CROSS_CONSTANT_ID_0;
constant uint _91 = (kMostThreads + 3u);
constant uint _93 = (_91 / 4u);
constant uint _94 = (_93 * 1u);

struct Push
{
    uint n;
    uint n_rows;
    uint x_first;
    uint weight_first;
    uint out_first;
    float eps;
};

struct X
{
    float x[1];
};

struct Out
{
    float result[1];
};

struct Weight
{
    float weight[1];
};

constant uint _274_tmp [[function_constant(0)]];
constant uint _274 = is_function_constant_defined(_274_tmp) ? _274_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_274, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, 1>& values, thread const bool& is_sum, threadgroup float (&reduced)[_94], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, 1> results;
    float _60;
    for (uint i = 0u; i < 1u; i++)
    {
        if (is_sum)
        {
            _60 = simd_sum(values[i]);
        }
        else
        {
            _60 = simd_max(values[i]);
        }
        results[i] = _60;
    }
    bool _79 = simd_is_first();
    if (_79)
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
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_94], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * 1u) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
float sum_of_group(thread const float& value, threadgroup float (&reduced)[_94], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups)
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

kernel void rms_norm(constant Push& push [[buffer(30)]], const device X& _193 [[buffer(0)]], const device Weight& _262 [[buffer(1)]], device Out& _248 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float reduced[_94];
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (row >= push.n_rows)
    {
        return;
    }
    uint x_first = push.x_first + (row * push.n);
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < push.n; i += kMostThreads)
    {
        float value = _193.x[x_first + i];
        sum += (value * value);
    }
    float param = sum;
    float _209 = sum_of_group(param, reduced, gl_SubgroupID, gl_NumSubgroups);
    sum = _209;
    float scale = 1.0 / sqrt((sum / float(push.n)) + push.eps);
    uint out_first = push.out_first + (row * push.n);
    for (uint i_1 = gl_LocalInvocationID.x; i_1 < push.n; i_1 += kMostThreads)
    {
        _248.result[out_first + i_1] = (_193.x[x_first + i_1] * scale) * _262.weight[push.weight_first + i_1];
    }
}

