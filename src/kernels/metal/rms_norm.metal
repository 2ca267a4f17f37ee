// src/kernels/vulkan/rms_norm.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

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

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 128u
#endif
constant uint kThreads = SPIRV_CROSS_CONSTANT_ID_0;

struct Out
{
    float result[1];
};

struct Weight
{
    float weight[1];
};

constant uint _187_tmp [[function_constant(0)]];
constant uint _187 = is_function_constant_defined(_187_tmp) ? _187_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_187, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

kernel void rms_norm(constant Push& push [[buffer(30)]], const device X& _75 [[buffer(0)]], const device Weight& _175 [[buffer(1)]], device Out& _161 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]])
{
    threadgroup float partial[kThreads];
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (row >= push.n_rows)
    {
        return;
    }
    uint x_first = push.x_first + (row * push.n);
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads)
    {
        float value = _75.x[x_first + i];
        sum += (value * value);
    }
    sum = simd_sum(sum);
    bool _93 = simd_is_first();
    if (_93)
    {
        partial[gl_SubgroupID] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = 0.0;
    for (uint i_1 = 0u; i_1 < gl_NumSubgroups; i_1++)
    {
        sum += partial[i_1];
    }
    float scale = 1.0 / sqrt((sum / float(push.n)) + push.eps);
    uint out_first = push.out_first + (row * push.n);
    for (uint i_2 = gl_LocalInvocationID.x; i_2 < push.n; i_2 += kThreads)
    {
        _161.result[out_first + i_2] = (_75.x[x_first + i_2] * scale) * _175.weight[push.weight_first + i_2];
    }
}

