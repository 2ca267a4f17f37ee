// src/kernels/vulkan/attention_merge.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

struct Push
{
    uint parts_at;
    uint softmax_at;
    uint out_at;
    uint head_dim_v;
    uint n_vectors;
    uint n_parts;
};

struct Softmax
{
    float2 softmax[1];
};

struct Parts
{
    float parts[1];
};

struct Out
{
    float result[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
uint flat_invocation(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups, thread uint3& gl_LocalInvocationID)
{
    return (flat_group(gl_WorkGroupID, gl_NumWorkGroups) * 128u) + gl_LocalInvocationID.x;
}

kernel void attention_merge(constant Push& push [[buffer(30)]], const device Parts& _140 [[buffer(0)]], const device Softmax& _77 [[buffer(1)]], device Out& _165 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint i = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    uint n = push.head_dim_v * push.n_vectors;
    if (i >= n)
    {
        return;
    }
    uint vector = push.softmax_at + (i / push.head_dim_v);
    float largest = ((device float*)&_77.softmax[vector])[0u];
    for (uint part = 1u; part < push.n_parts; part++)
    {
        largest = fast::max(largest, ((device float*)&_77.softmax[vector + (part * push.n_vectors)])[0u]);
    }
    float sum = 0.0;
    float weight_sum = 0.0;
    for (uint part_1 = 0u; part_1 < push.n_parts; part_1++)
    {
        float2 of_part = _77.softmax[vector + (part_1 * push.n_vectors)];
        float weight = exp(of_part.x - largest);
        sum += (weight * _140.parts[(push.parts_at + (part_1 * n)) + i]);
        weight_sum += (weight * of_part.y);
    }
    _165.result[push.out_at + i] = sum / weight_sum;
}

