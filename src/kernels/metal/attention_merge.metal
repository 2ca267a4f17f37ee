// src/kernels/vulkan/attention_merge.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

struct Softmax
{
    float2 softmax[1];
};

struct Push
{
    uint parts_at;
    uint softmax_at;
    uint out_at;
    uint head_dim_v;
    uint n_vectors;
    uint n_parts;
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

static inline __attribute__((always_inline))
float2 softmax_of_part(thread const uint& part, thread const uint& vector, const device Softmax& v_60, constant Push& push)
{
    return v_60.softmax[(push.softmax_at + (part * push.n_vectors)) + vector];
}

static inline __attribute__((always_inline))
float sum_of_part(thread const uint& part, thread const uint& vector, thread const uint& dimension, constant Push& push, const device Parts& v_86)
{
    return v_86.parts[(push.parts_at + (((part * push.n_vectors) + vector) * push.head_dim_v)) + dimension];
}

static inline __attribute__((always_inline))
float put_together(thread const uint& vector, thread const uint& dimension, thread const uint& n_parts, const device Softmax& v_60, constant Push& push, const device Parts& v_86)
{
    uint param = 0u;
    uint param_1 = vector;
    float largest = softmax_of_part(param, param_1, v_60, push).x;
    spvUnsafeArray<float, 8> scores;
    for (uint first = 1u; first < n_parts; first += 8u)
    {
        for (uint i = 0u; i < 8u; i++)
        {
            uint param_2 = min((first + i), (n_parts - 1u));
            uint param_3 = vector;
            scores[i] = softmax_of_part(param_2, param_3, v_60, push).x;
        }
        for (uint i_1 = 0u; i_1 < 8u; i_1++)
        {
            largest = fast::max(largest, scores[i_1]);
        }
    }
    float sum = 0.0;
    float weight_sum = 0.0;
    spvUnsafeArray<float2, 8> softmaxes;
    spvUnsafeArray<float, 8> sums;
    float _240;
    for (uint first_1 = 0u; first_1 < n_parts; first_1 += 8u)
    {
        for (uint i_2 = 0u; i_2 < 8u; i_2++)
        {
            uint part = min((first_1 + i_2), (n_parts - 1u));
            uint param_4 = part;
            uint param_5 = vector;
            softmaxes[i_2] = softmax_of_part(param_4, param_5, v_60, push);
            uint param_6 = part;
            uint param_7 = vector;
            uint param_8 = dimension;
            sums[i_2] = sum_of_part(param_6, param_7, param_8, push, v_86);
        }
        for (uint i_3 = 0u; i_3 < 8u; i_3++)
        {
            if ((first_1 + i_3) >= n_parts)
            {
                break;
            }
            if (softmaxes[i_3].x == largest)
            {
                _240 = 1.0;
            }
            else
            {
                _240 = exp(softmaxes[i_3].x - largest);
            }
            float weight = _240;
            sum += (weight * sums[i_3]);
            weight_sum += (weight * softmaxes[i_3].y);
        }
    }
    return sum / weight_sum;
}

kernel void attention_merge(constant Push& push [[buffer(30)]], const device Parts& v_86 [[buffer(0)]], const device Softmax& v_60 [[buffer(1)]], device Out& _290 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint i = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    if (i >= (push.head_dim_v * push.n_vectors))
    {
        return;
    }
    uint param = i / push.head_dim_v;
    uint param_1 = i % push.head_dim_v;
    uint param_2 = push.n_parts;
    _290.result[push.out_at + i] = put_together(param, param_1, param_2, v_60, push, v_86);
}

