// src/kernels/vulkan/col2im.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

struct Columns
{
    float columns[1];
};

struct Push
{
    uint n;
    uint columns_first;
    uint bias_first;
    uint out_first;
    uint n_channel;
    uint n_columns;
    uint stride;
};

struct Bias
{
    float bias0[1];
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
float product(thread const uint& column, thread const uint& tap, thread const uint& channel, const device Columns& v_49, constant Push& push)
{
    return v_49.columns[(push.columns_first + ((((column * 2u) * push.stride) + tap) * push.n_channel)) + channel];
}

kernel void col2im(const device Columns& v_49 [[buffer(0)]], constant Push& push [[buffer(30)]], const device Bias& _105 [[buffer(1)]], device Out& _184 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint i = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    if (i >= push.n)
    {
        return;
    }
    uint channel = i % push.n_channel;
    uint place = i / push.n_channel;
    float sum = _105.bias0[push.bias_first + channel];
    bool _116 = (push.stride % 2u) == 0u;
    bool _129;
    if (!_116)
    {
        _129 = (place + 1u) < (push.n_columns * push.stride);
    }
    else
    {
        _129 = _116;
    }
    if (_129)
    {
        uint moved = place + ((push.stride + 1u) / 2u);
        uint column = moved / push.stride;
        uint tap = moved % push.stride;
        if (column > 0u)
        {
            uint param = column - 1u;
            uint param_1 = tap + push.stride;
            uint param_2 = channel;
            sum += product(param, param_1, param_2, v_49, push);
        }
        if (column < push.n_columns)
        {
            uint param_3 = column;
            uint param_4 = tap;
            uint param_5 = channel;
            sum += product(param_3, param_4, param_5, v_49, push);
        }
    }
    _184.result[push.out_first + i] = sum;
}

