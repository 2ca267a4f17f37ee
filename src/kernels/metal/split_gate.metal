// src/kernels/vulkan/split_gate.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

struct Push
{
    uint n;
    uint head_dim;
    uint x_first;
    uint q_first;
    uint gate_first;
};

struct Q
{
    float q[1];
};

struct X
{
    float x[1];
};

struct Gate
{
    float gate[1];
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

kernel void split_gate(constant Push& push [[buffer(30)]], const device X& _88 [[buffer(0)]], device Q& _79 [[buffer(1)]], device Gate& _97 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint i = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    if (i >= push.n)
    {
        return;
    }
    uint query = (push.x_first + (((i / push.head_dim) * 2u) * push.head_dim)) + (i % push.head_dim);
    _79.q[push.q_first + i] = _88.x[query];
    _97.gate[push.gate_first + i] = _88.x[query + push.head_dim];
}

