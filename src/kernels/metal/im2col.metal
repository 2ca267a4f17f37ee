// src/kernels/vulkan/im2col.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

struct Push
{
    uint n;
    uint x_first;
    uint out_first;
    uint n_all;
    uint width;
    uint height;
    uint first_channel;
    uint n_channel;
    uint window_width;
    uint window_height;
    uint stride_x;
    uint stride_y;
    uint pad_x;
    uint pad_y;
    uint dilation_x;
    uint out_width;
    uint first_place;
};

struct X
{
    float x[1];
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

kernel void im2col(constant Push& push [[buffer(30)]], const device X& _176 [[buffer(0)]], device Out& _198 [[buffer(1)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint i = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    if (i >= push.n)
    {
        return;
    }
    uint n_taps = push.window_width * push.window_height;
    uint channel = i % push.n_channel;
    uint tap = (i / push.n_channel) % n_taps;
    uint column = i / (push.n_channel * n_taps);
    uint place = push.first_place + column;
    int from_x = int(((place % push.out_width) * push.stride_x) + ((tap % push.window_width) * push.dilation_x)) - int(push.pad_x);
    int from_y = int(((place / push.out_width) * push.stride_y) + (tap / push.window_width)) - int(push.pad_y);
    float value = 0.0;
    bool _140 = from_x >= 0;
    bool _149;
    if (_140)
    {
        _149 = from_x < int(push.width);
    }
    else
    {
        _149 = _140;
    }
    bool _152 = _149 && (from_y >= 0);
    bool _161;
    if (_152)
    {
        _161 = from_y < int(push.height);
    }
    else
    {
        _161 = _152;
    }
    if (_161)
    {
        uint pixel = (uint(from_y) * push.width) + uint(from_x);
        value = _176.x[((push.x_first + (pixel * push.n_all)) + push.first_channel) + channel];
    }
    _198.result[(push.out_first + (((column * push.n_channel) + channel) * n_taps)) + tap] = value;
}

