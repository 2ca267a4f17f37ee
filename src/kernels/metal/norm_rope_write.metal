// src/kernels/vulkan/norm_rope_write.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

struct Q
{
    float q[1];
};

struct K
{
    float k[1];
};

struct Push
{
    uint n;
    uint q_first;
    uint k_first;
    uint q_norm_first;
    uint k_norm_first;
    uint angles_first;
    uint has_q_norm;
    uint has_k_norm;
    uint n_head;
    uint n_head_kv;
    uint head_dim;
    uint n_pairs;
    uint a_stride;
    uint b_offset;
    float eps;
};

struct QNorm
{
    float q_norm[1];
};

struct KNorm
{
    float k_norm[1];
};

struct Angles
{
    float angles[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
bool has_norm(thread bool& is_q, constant Push& push)
{
    uint _96;
    if (is_q)
    {
        _96 = push.has_q_norm;
    }
    else
    {
        _96 = push.has_k_norm;
    }
    return _96 != 0u;
}

static inline __attribute__((always_inline))
float stored(thread const uint& i, thread bool& is_q, device Q& v_57, thread uint& first, device K& v_72)
{
    float _51;
    if (is_q)
    {
        _51 = v_57.q[first + i];
    }
    else
    {
        _51 = v_72.k[first + i];
    }
    return _51;
}

static inline __attribute__((always_inline))
void find_scale(thread bool& is_q, device Q& v_57, thread uint& first, device K& v_72, constant Push& push, thread float& scale, thread uint3& gl_LocalInvocationID, threadgroup float (&partial)[64], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < push.head_dim; i += 64u)
    {
        uint param = i;
        float value = stored(param, is_q, v_57, first, v_72);
        sum += (value * value);
    }
    sum = simd_sum(sum);
    bool _191 = simd_is_first();
    if (_191)
    {
        partial[gl_SubgroupID] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = 0.0;
    for (uint i_1 = 0u; i_1 < gl_NumSubgroups; i_1++)
    {
        sum += partial[i_1];
    }
    scale = 1.0 / sqrt((sum / float(push.head_dim)) + push.eps);
}

static inline __attribute__((always_inline))
float normalised(thread const uint& i, thread bool& is_q, device Q& v_57, thread uint& first, device K& v_72, constant Push& push, thread float& scale, const device QNorm& v_136, const device KNorm& v_148)
{
    if (!has_norm(is_q, push))
    {
        uint param = i;
        return stored(param, is_q, v_57, first, v_72);
    }
    uint param_1 = i;
    float _130;
    if (is_q)
    {
        _130 = v_136.q_norm[push.q_norm_first + i];
    }
    else
    {
        _130 = v_148.k_norm[push.k_norm_first + i];
    }
    return (stored(param_1, is_q, v_57, first, v_72) * scale) * _130;
}

static inline __attribute__((always_inline))
void store(thread const uint& i, thread const float& value, thread bool& is_q, device Q& v_57, thread uint& first, device K& v_72)
{
    if (is_q)
    {
        v_57.q[first + i] = value;
    }
    else
    {
        v_72.k[first + i] = value;
    }
}

kernel void norm_rope_write(device Q& v_57 [[buffer(0)]], constant Push& push [[buffer(30)]], device K& v_72 [[buffer(1)]], const device QNorm& v_136 [[buffer(2)]], const device KNorm& v_148 [[buffer(3)]], const device Angles& _329 [[buffer(4)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]])
{
    threadgroup float partial[64];
    uint index = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    bool is_q;
    uint first;
    float scale;
    if (index >= push.n)
    {
        return;
    }
    uint n_heads = push.n_head + push.n_head_kv;
    uint token = index / n_heads;
    uint head = index % n_heads;
    is_q = head < push.n_head;
    uint _265;
    if (is_q)
    {
        _265 = push.q_first + (((token * push.n_head) + head) * push.head_dim);
    }
    else
    {
        _265 = push.k_first + ((((token * push.n_head_kv) + head) - push.n_head) * push.head_dim);
    }
    first = _265;
    scale = 1.0;
    if (has_norm(is_q, push))
    {
        find_scale(is_q, v_57, first, v_72, push, scale, gl_LocalInvocationID, partial, gl_SubgroupID, gl_NumSubgroups);
    }
    uint cosine_first = push.angles_first + ((token * 2u) * push.n_pairs);
    for (uint pair = gl_LocalInvocationID.x; pair < push.n_pairs; pair += 64u)
    {
        float cosine = _329.angles[cosine_first + pair];
        float sine = _329.angles[(cosine_first + push.n_pairs) + pair];
        uint a_at = pair * push.a_stride;
        uint param = a_at;
        float a = normalised(param, is_q, v_57, first, v_72, push, scale, v_136, v_148);
        uint param_1 = a_at + push.b_offset;
        float b = normalised(param_1, is_q, v_57, first, v_72, push, scale, v_136, v_148);
        uint param_2 = a_at;
        float param_3 = (a * cosine) - (b * sine);
        store(param_2, param_3, is_q, v_57, first, v_72);
        uint param_4 = a_at + push.b_offset;
        float param_5 = (a * sine) + (b * cosine);
        store(param_4, param_5, is_q, v_57, first, v_72);
    }
    uint _395 = (2u * push.n_pairs) + gl_LocalInvocationID.x;
    for (uint i = _395; i < push.head_dim; i += 64u)
    {
        uint param_6 = i;
        uint param_7 = i;
        float param_8 = normalised(param_6, is_q, v_57, first, v_72, push, scale, v_136, v_148);
        store(param_7, param_8, is_q, v_57, first, v_72);
    }
}

