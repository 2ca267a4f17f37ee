// src/kernels/vulkan/top_logits_parts.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#pragma clang diagnostic ignored "-Wmissing-braces"
#pragma clang diagnostic ignored "-Wunused-variable"

#include <metal_stdlib>
#include <simd/simd.h>
#include <metal_atomic>

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

struct PartRange
{
    uint first;
    uint end;
};

struct Push
{
    uint n;
    uint n_rows;
    uint n_parts;
    uint x_first;
};

struct X
{
    uint x[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 128u
#endif
constant uint kThreads = SPIRV_CROSS_CONSTANT_ID_0;
constant uint _301 = (8u * kThreads);
constant uint lanes = (kThreads / 16u);
constant uint _322 = (lanes / 2u);

struct Parts
{
    uint parts[1];
};

constant uint _410 = (kThreads / 2u);
constant uint _455_tmp [[function_constant(0)]];
constant uint _455 = is_function_constant_defined(_455_tmp) ? _455_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_455, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
PartRange range_of_part(thread const uint& n, thread const uint& part, thread const uint& n_parts)
{
    uint each = n / n_parts;
    uint more = n % n_parts;
    uint first = (part * each) + min(part, more);
    return PartRange{ first, (first + each) + uint(part < more) };
}

static inline __attribute__((always_inline))
bool is_no_finite(thread const uint& bits)
{
    return (bits & 2139095040u) == 2139095040u;
}

static inline __attribute__((always_inline))
uint rank(thread uint& bits)
{
    if (bits == 2147483648u)
    {
        bits = 0u;
    }
    uint _57;
    if ((bits & 2147483648u) != 0u)
    {
        _57 = ~bits;
    }
    else
    {
        _57 = bits | 2147483648u;
    }
    return _57;
}

static inline __attribute__((always_inline))
float value_of_rank(thread const uint& of)
{
    uint _71;
    if ((of & 2147483648u) != 0u)
    {
        _71 = of & 2147483647u;
    }
    else
    {
        _71 = ~of;
    }
    return as_type<float>(_71);
}

kernel void top_logits_parts(constant Push& push [[buffer(30)]], const device X& _211 [[buffer(0)]], device Parts& _365 [[buffer(1)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup uint n_bad;
    threadgroup uint highest[kThreads];
    threadgroup float sums[kThreads];
    uint thread0 = gl_LocalInvocationID.x;
    uint part = flat_group(gl_WorkGroupID, gl_NumWorkGroups) % push.n_parts;
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups) / push.n_parts;
    if (row >= push.n_rows)
    {
        return;
    }
    uint row_first = push.x_first + (row * push.n);
    uint param = push.n;
    uint param_1 = part;
    uint param_2 = push.n_parts;
    PartRange range = range_of_part(param, param_1, param_2);
    if (thread0 == 0u)
    {
        n_bad = 0u;
    }
    float own = -3.4028234663852885981170418348452e+38;
    float sum = 0.0;
    bool is_bad = false;
    uint _185 = range.first + thread0;
    spvUnsafeArray<float, 8> loaded;
    for (uint first = _185; first < range.end; first += _301)
    {
        for (uint j = 0u; j < 8u; j++)
        {
            loaded[j] = as_type<float>(_211.x[row_first + min((first + (j * kThreads)), (range.end - 1u))]);
        }
        float most = own;
        for (uint j_1 = 0u; j_1 < 8u; j_1++)
        {
            bool _250;
            if (!is_bad)
            {
                uint param_3 = as_type<uint>(loaded[j_1]);
                _250 = is_no_finite(param_3);
            }
            else
            {
                _250 = is_bad;
            }
            is_bad = _250;
            if ((first + (j_1 * kThreads)) < range.end)
            {
                most = fast::max(most, loaded[j_1]);
            }
        }
        sum *= exp(own - most);
        for (uint j_2 = 0u; j_2 < 8u; j_2++)
        {
            if ((first + (j_2 * kThreads)) < range.end)
            {
                sum += exp(loaded[j_2] - most);
            }
        }
        own = most;
    }
    uint param_4 = as_type<uint>(own);
    uint _311 = rank(param_4);
    highest[thread0] = _311;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (is_bad)
    {
        uint _318 = atomic_fetch_or_explicit((threadgroup atomic_uint*)&n_bad, 1u, memory_order_relaxed);
    }
    for (uint n = _322; n > 0u; n /= 2u)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if ((thread0 % lanes) < n)
        {
            highest[thread0] = max(highest[thread0], highest[thread0 + n]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint told = ((row * push.n_parts) + part) * 19u;
    if (thread0 < 16u)
    {
        _365.parts[(told + 3u) + thread0] = highest[thread0 * lanes];
    }
    uint most_1 = 0u;
    for (uint group = 0u; group < 16u; group++)
    {
        most_1 = max(most_1, highest[group * lanes]);
    }
    uint param_5 = most_1;
    float highest_of_part = value_of_rank(param_5);
    sums[thread0] = sum * exp(own - highest_of_part);
    for (uint n_1 = _410; n_1 > 0u; n_1 /= 2u)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (thread0 < n_1)
        {
            sums[thread0] += sums[thread0 + n_1];
        }
    }
    if (thread0 != 0u)
    {
        return;
    }
    _365.parts[told + 0u] = as_type<uint>(highest_of_part);
    _365.parts[told + 1u] = as_type<uint>(sums[0]);
    _365.parts[told + 2u] = n_bad;
}

