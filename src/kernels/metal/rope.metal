// src/kernels/vulkan/rope.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

struct Push
{
    uint n;
    uint x_first;
    uint angles_first;
    uint head_dim;
    uint n_head;
    uint n_pairs;
    uint a_stride;
    uint b_offset;
};

struct Angles
{
    float angles[1];
};

struct X
{
    float x[1];
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

kernel void rope(constant Push& push [[buffer(30)]], device X& _123 [[buffer(0)]], const device Angles& _91 [[buffer(1)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint i = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    if (i >= push.n)
    {
        return;
    }
    uint pair = i % push.n_pairs;
    uint head = i / push.n_pairs;
    uint token = head / push.n_head;
    uint cosine_at = (push.angles_first + ((token * 2u) * push.n_pairs)) + pair;
    float cosine = _91.angles[cosine_at];
    float sine = _91.angles[cosine_at + push.n_pairs];
    uint a_at = (push.x_first + (head * push.head_dim)) + (pair * push.a_stride);
    float a = _123.x[a_at];
    float b = _123.x[a_at + push.b_offset];
    _123.x[a_at] = (a * cosine) - (b * sine);
    _123.x[a_at + push.b_offset] = (a * sine) + (b * cosine);
}

